/* Types shared by the parts of the native core. Headers in this folder are plain C: cffi reads their declarations. */
#ifndef VTA_COMMON_H
#define VTA_COMMON_H

#include <stddef.h>
#include <stdint.h>

/* Geometry of one accelerator; every value is a log2, as in the JSON config. */
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
} vta_geometry;

#endif
