/* Runs compiled networks without Python: the kernels of their host part, and their regions on a device. */
#ifndef VTA_RUNTIME_H
#define VTA_RUNTIME_H

#include "vta_common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vta_runtime vta_runtime;

/* How a network is run. */
typedef struct {
  const char *device;        /* "sim", or the description of a board, a JSON file */
  const char *design;        /* of the board; "" is its default */
  const char *registers;     /* how a board's registers are reached: /dev/mem, or a UIO device such as /dev/uio0; "": /dev/mem */
  const char *buffer;        /* how its memory is reached: /dev/mem, or a u-dma-buf such as /dev/udmabuf0; "": as its driver does */
  uint64_t memory_bytes;     /* most device memory */
  double limit_seconds;      /* of each run of the device */
  int32_t threads;           /* that share the work of kernels */
} vta_runtime_options;

/* An input or an output: dense, row by row. */
typedef struct {
  const char *name;
  const char *dtype; /* NumPy's name */
  int32_t rank;
  const int64_t *shape;
  void *data;
  uint64_t nbytes;
} vta_runtime_value;

typedef struct {
  double host_seconds;
  double device_seconds;
  int64_t device_runs;
} vta_runtime_times;

/* Loads the `.vta` file at `path`, and its constants into the memory of the device. It runs code from the file: take files only from
   where you would take programs from. Returns NULL and writes a message if anything is wrong. */
vta_runtime *vta_runtime_open(const char *path, const vta_runtime_options *options, char *error, size_t error_bytes);
void vta_runtime_close(vta_runtime *runtime);

int32_t vta_runtime_inputs(const vta_runtime *runtime);
int32_t vta_runtime_outputs(const vta_runtime *runtime);

/* What `value` holds is valid until the runtime is closed. The caller fills the data of inputs before each run. */
void vta_runtime_input(vta_runtime *runtime, int32_t index, vta_runtime_value *value);
void vta_runtime_output(vta_runtime *runtime, int32_t index, vta_runtime_value *value);

/* An input that gets its next value from an output, by their positions. */
typedef struct {
  int32_t input;
  int32_t output;
  const void *initial; /* as many bytes as the input: the value before the first run */
} vta_runtime_state;

/* Nothing is kept between runs: whoever runs a network copies a state's next value to its input. */
int32_t vta_runtime_states(const vta_runtime *runtime);
void vta_runtime_state_at(const vta_runtime *runtime, int32_t index, vta_runtime_state *state);

/* Computes the outputs. Returns VTA_DONE or VTA_FAILED. */
int32_t vta_runtime_run(vta_runtime *runtime, vta_runtime_times *times);

/* Text of the last failure. */
const char *vta_runtime_error(const vta_runtime *runtime);

/* A shared library of kernels in memory, without the system's loader. */
typedef struct vta_library vta_library;

/* Returns NULL and writes a message if `code` is no library for this machine, or damaged. Nothing of it is run. */
vta_library *vta_library_open(const uint8_t *code, uint64_t nbytes, char *error, size_t error_bytes);
void vta_library_close(vta_library *library);

/* The address of a function, or NULL. It is valid until the library is closed. */
void *vta_library_function(const vta_library *library, const char *symbol);

/* The command vta-run; returns its exit status. */
int32_t vta_runtime_main(int32_t count, const char *const *arguments);

#ifdef __cplusplus
}
#endif

#endif
