/* The host part of a network: compiled kernels that run one after the other on buffers of a table. */
#ifndef VTA_HOST_H
#define VTA_HOST_H

#include "vta_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled kernel: its buffers, and the range of its outermost loop that is to run. */
typedef void (*vta_host_kernel)(void **buffers, int64_t begin, int64_t end);

typedef struct {
  vta_host_kernel kernel;
  int64_t extent;         /* of the outermost loop, if threads may share it; else 1 */
  const int32_t *buffers; /* places of its buffers in the table */
  int64_t count;          /* how many these are, at most VTA_HOST_MOST_BUFFERS */
} vta_host_call;

enum { VTA_HOST_MOST_BUFFERS = 256 };

typedef struct vta_host_threads vta_host_threads;

/* Threads that wait for work, `threads` less the one that calls. Returns NULL if they cannot be started. */
vta_host_threads *vta_host_threads_create(int32_t threads);
void vta_host_threads_destroy(vta_host_threads *threads);

/* Runs the calls in order. With `threads` (or NULL) they share each call that can be shared; one run at a time uses them.
   Writes the time that each call took to `nanoseconds`, unless that is NULL. */
void vta_host_run(const vta_host_call *calls, int64_t count, void *const *table, vta_host_threads *threads,
                  int64_t *nanoseconds);

/* A buffer of which each sample has its own: how far it is from one to the next. */
typedef struct {
  int32_t place; /* in the table */
  int64_t bytes;
} vta_host_stride;

/* Runs the calls for so many samples on this thread; others may run other samples at the same time. Each call is made for
   `together` of them before the next call, so that what it reads for all of them, such as weights, stays in a cache. There are as
   many tables, of `places` buffers each, one after the other: those of the first samples. After a sample the buffers of `strides`
   move on in its table, by so many samples. */
void vta_host_run_samples(const vta_host_call *calls, int64_t count, void **tables, int64_t places, int64_t together,
                          const vta_host_stride *strides, int64_t moving, int64_t samples);

#ifdef __cplusplus
}
#endif

#endif
