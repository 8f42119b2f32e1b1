// DEPTHWISE: each channel of three rows of input times a weight of its own for each.
#ifndef VTA_FUNCTIONAL_DEPTHWISE_H
#define VTA_FUNCTIONAL_DEPTHWISE_H

#include "kernels/kernels.h"

namespace vta {

struct DepthwiseJob {
  NestPart part;
  const int8_t* inp;  // rows as they are in DRAM
  const int8_t* wgt;
  int32_t* acc;
  int8_t* out;
  int64_t batch;
  int64_t block;
  bool narrow;  // accumulators have 16 bits
};

// All rows must be inside the buffers.
void depthwise_rows(const DepthwiseJob& job);

}  // namespace vta

#endif
