/* The functional engine: executes instruction streams bit for bit, without time. One handle is one device's on-chip state.
   A handle is not thread-safe; different handles are independent. */
#ifndef VTA_FUNCTIONAL_H
#define VTA_FUNCTIONAL_H

#include "vta_common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vta_functional vta_functional;

/* Inner loops to use. VTA_KERNEL_BEST takes the fastest that the processor has. */
enum { VTA_KERNEL_BEST = 0, VTA_KERNEL_PORTABLE = 1, VTA_KERNEL_AVX2 = 2, VTA_KERNEL_AVX512 = 3 };

/* Token queues, in the order of every token array. */
enum { VTA_LOAD_TO_COMPUTE = 0, VTA_COMPUTE_TO_LOAD = 1, VTA_COMPUTE_TO_STORE = 2, VTA_STORE_TO_COMPUTE = 3 };

/* What to run. The memory behind the pointers must stay valid until the run is done or abandoned. */
typedef struct {
  const uint8_t *stream; /* 16 bytes an instruction */
  uint64_t first;        /* runs instructions [first, last) */
  uint64_t last;
  uint8_t *dram; /* device memory; its first byte has address 0 */
  uint64_t dram_bytes;
  uint8_t *dram_written; /* a byte for each 4 bytes of dram, not 0 where something wrote them: stores set it; or NULL */
  const int32_t *operator_index; /* per instruction of the stream, -1 for none; or NULL */
  uint32_t operator_count;
  int32_t random_order; /* 0: by rank, as far as tokens allow it; 1: a random ready unit each time, by seed */
  uint64_t seed;
  const int64_t *rank; /* per instruction of the stream: of the ready ones the lowest goes on; or NULL: in program order */
  int32_t checks; /* 1: reading SRAM rows that nothing wrote is an error. Bounds are always checked. */
  int32_t dram_checks; /* 1: loading DRAM that dram_written does not mark is an error */
} vta_functional_job;

/* Returns NULL and writes a message if the geometry does not encode or the processor lacks the kernel. */
vta_functional *vta_functional_create(const vta_geometry *geometry, int32_t kernel, char *error, size_t error_bytes);
void vta_functional_destroy(vta_functional *engine);

/* Clears all SRAM (contents zero and unwritten) and all tokens. */
void vta_functional_reset(vta_functional *engine);

/* Starts a run on the present SRAM and tokens, with counters at zero. */
int32_t vta_functional_begin(vta_functional *engine, const vta_functional_job *job);

/* Begins the last run again, as after a reset, with the same stream. Returns VTA_MORE, or VTA_FAILED if none has begun. */
int32_t vta_functional_begin_again(vta_functional *engine);

/* Goes on for about `budget` multiply-accumulates of work, so that a caller can bound the time of one call. */
int32_t vta_functional_step(vta_functional *engine, uint64_t budget);

/* Bytes of device memory that each sample has its own of. */
typedef struct {
  uint64_t address;
  uint64_t bytes;
  uint8_t *values; /* of all samples, one after the other */
} vta_functional_values;

/* Samples that one job is run for, each from a reset. */
typedef struct {
  const vta_functional_values *inputs; /* copied to device memory before a run; they must lie inside of it */
  uint32_t input_count;
  const vta_functional_values *outputs; /* copied from there after it */
  uint32_t output_count;
  uint64_t samples;
  uint64_t done;  /* 0 at first; samples whose outputs are there */
  int32_t begun; /* 0 at first; 1 while the run of a sample goes on */
} vta_functional_samples;

/* Goes on with the samples for about `budget` multiply-accumulates of work. Counters are those of the last run that was begun. */
int32_t vta_functional_step_samples(vta_functional *engine, const vta_functional_job *job, vta_functional_samples *samples,
                                    uint64_t budget);

/* Text of the last failure. */
const char *vta_functional_error(const vta_functional *engine);

/* Name of the kernels in use. */
const char *vta_functional_kernel(const vta_functional *engine);

/* Counters of the present run: of one operator, or of all instructions if `operator_index` is -1. */
void vta_functional_get_counters(const vta_functional *engine, int32_t operator_index, vta_functional_counters *counters);

void vta_functional_get_tokens(const vta_functional *engine, uint64_t tokens[4]);
void vta_functional_set_tokens(vta_functional *engine, const uint64_t tokens[4]);

#ifdef __cplusplus
}
#endif

#endif
