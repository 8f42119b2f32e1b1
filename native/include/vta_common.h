/* Types shared by the parts of the native core. Headers in this folder are plain C: cffi reads their declarations. */
#ifndef VTA_COMMON_H
#define VTA_COMMON_H

#include <stddef.h>
#include <stdint.h>

/* Geometry of one accelerator: log2 values, and options that are 0 or 1, as in the JSON config. */
typedef struct {
  int32_t log_inp_width;
  int32_t log_wgt_width;
  int32_t log_acc_width;
  int32_t log_batch;
  int32_t log_block;
  int32_t log_uop_buff_size;
  int32_t log_inp_buff_size;
  int32_t log_wgt_buff_size;
  int32_t log_acc_buff_size;
  int32_t requantize_unit;
  int32_t table_unit;
  int32_t depthwise_unit;
} vta_geometry;

/* Results of calls that may fail or may have to be repeated. */
enum { VTA_DONE = 0, VTA_MORE = 1, VTA_FAILED = -1, VTA_TIMED_OUT = -2 };

/* Padding is not counted. An ACC_8BIT load counts the accumulator bytes that it fills, not the bytes that it reads; what is
   loaded of a table counts as accumulator bytes. */
typedef struct {
  uint64_t inp_bytes;
  uint64_t wgt_bytes;
  uint64_t acc_bytes;
  uint64_t uop_bytes;
  uint64_t out_bytes;
  uint64_t gemm_uops; /* without resets; those of DEPTHWISE too */
  uint64_t reset_uops;
  uint64_t alu_uops;
  uint64_t macs; /* BATCH * BLOCK * BLOCK a micro-op of GEMM, BATCH * BLOCK * 3 of DEPTHWISE */
  uint64_t load_instructions;
  uint64_t compute_instructions;
  uint64_t store_instructions;
} vta_functional_counters;

#endif
