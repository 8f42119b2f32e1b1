#include "functional/depthwise.h"

#include "kernels/loops.h"

namespace vta {

namespace {

void depthwise_row(const DepthwiseJob& job, const int8_t* inp, const int8_t* wgt, int32_t* acc, int8_t* out) {
  const int64_t lanes = job.batch * job.block;
  for (int64_t b = 0; b < job.batch; ++b) {
    for (int64_t c = 0; c < job.block; ++c) {
      const int64_t lane = b * job.block + c;
      uint32_t sum = static_cast<uint32_t>(acc[lane]);
      for (int64_t tap = 0; tap < kDepthwiseTaps; ++tap) {
        sum += static_cast<uint32_t>(int32_t{inp[tap * lanes + lane]} * wgt[tap * job.block + c]);
      }
      acc[lane] = job.narrow ? static_cast<int16_t>(sum) : static_cast<int32_t>(sum);
      out[lane] = static_cast<int8_t>(sum);
    }
  }
}

}  // namespace

void depthwise_rows(const DepthwiseJob& job) {
  const int64_t lanes = job.batch * job.block, matrix = job.block * job.block;
  for_each_uop(job.part, [&](int64_t dst, int64_t src, int64_t wgt) __attribute__((always_inline)) {
    depthwise_row(job, job.inp + src * lanes, job.wgt + wgt * matrix, job.acc + dst * lanes, job.out + dst * lanes);
  });
}

}  // namespace vta
