// REQUANTIZE: accumulators times a multiplier of 31 bits, rounded and shifted, to 8 bits or to 32.
#ifndef VTA_FUNCTIONAL_REQUANTIZE_H
#define VTA_FUNCTIONAL_REQUANTIZE_H

#include "kernels/kernels.h"

namespace vta {

struct RequantizeJob {
  NestPart part;
  int32_t* acc;
  int8_t* out;
  int64_t lanes;
  bool wide;
  const uint8_t* table;  // NULL: results are not looked up
};

// All rows must be inside the buffers.
void requantize_rows(const RequantizeJob& job);

// The same with `parameters`, three rows of `lanes` each, for all.
void requantize_rows(const RequantizeJob& job, const int32_t* parameters);

}  // namespace vta

#endif
