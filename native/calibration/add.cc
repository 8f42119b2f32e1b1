// Sums of tensors, and what follows.
#include <algorithm>
#include <cstdint>

#include "calibration/epilogue.h"
#include "calibration/vectors.h"
#include "vta_calibration.h"
#include "vta_common.h"

namespace {

using vta::calibration::activate;
using vta::calibration::Largest;

constexpr int64_t kLanes = 32;

// Whether all sums are finite. Forced inline, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline bool add_all(const float* left, const float* right, int64_t count,
                                                   const vta_epilogue& epilogue, float* out) {
  Largest<kLanes> largest;
  int64_t first = 0;
  for (; first + kLanes <= count; first += kLanes) {
    float sums[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] = left[first + lane] + right[first + lane];
    largest.add(sums);
    activate<kLanes>(epilogue, sums);
    std::copy(sums, sums + kLanes, out + first);
  }
  float sums[kLanes] = {};
  for (int64_t at = first; at < count; ++at) sums[at - first] = left[at] + right[at];
  largest.add(sums);
  activate<kLanes>(epilogue, sums);
  std::copy(sums, sums + (count - first), out + first);
  return largest.is_finite();
}

bool add_plain(const float* left, const float* right, int64_t count, const vta_epilogue& epilogue, float* out) {
  return add_all(left, right, count, epilogue, out);
}
VTA_AVX2 bool add_avx2(const float* left, const float* right, int64_t count, const vta_epilogue& epilogue, float* out) {
  return add_all(left, right, count, epilogue, out);
}
VTA_AVX512 bool add_avx512(const float* left, const float* right, int64_t count, const vta_epilogue& epilogue, float* out) {
  return add_all(left, right, count, epilogue, out);
}

}  // namespace

int vta_add_tensors(const float* left, const float* right, int64_t count, const vta_epilogue* epilogue, float* out) {
  const auto add = vta::calibration::widest(add_plain, add_avx2, add_avx512);
  return add(left, right, count, *epilogue, out) ? VTA_DONE : VTA_MORE;
}
