// What is done to sums before they are written: what is added, and an activation.
#ifndef VTA_CALIBRATION_EPILOGUE_H
#define VTA_CALIBRATION_EPILOGUE_H

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "vta_calibration.h"

namespace vta::calibration {

// The largest magnitude of some values, as its bits: magnitudes are in their order, and what is no number is beyond infinity.
template <int64_t kLanes>
struct Largest {
  int32_t bits[kLanes] = {};

  __attribute__((always_inline)) void add(const float* values) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      int32_t of;
      std::memcpy(&of, values + lane, sizeof of);
      bits[lane] = std::max(bits[lane], of & INT32_MAX);
    }
  }

  bool is_finite() const {
    constexpr int32_t kInfinity = 0x7F800000;
    return *std::max_element(bits, bits + kLanes) < kInfinity;
  }
};

// The activation of values, as NumPy gives it where they are numbers, to the sign of a zero. Forced inline, so that it is compiled
// for the vector unit of its caller.
template <int64_t kLanes>
__attribute__((always_inline)) inline void activate(const vta_epilogue& epilogue, float* values) {
  if (epilogue.rectifies) {
    for (int64_t lane = 0; lane < kLanes; ++lane) values[lane] = values[lane] > 0.0F ? values[lane] : 0.0F;
    return;
  }
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const float above = values[lane] < epilogue.least ? epilogue.least : values[lane];
    values[lane] = above > epilogue.most ? epilogue.most : above;
  }
}

// Of a channel, whose sums lie one after the other, as what is added to them does where there is something. Returns whether what there
// is before the activation is finite; `sums` may be `out`.
__attribute__((always_inline)) inline bool finish(const float* sums, int64_t count, float bias, const float* residual,
                                                  const vta_epilogue& epilogue, float* out) {
  constexpr int64_t kLanes = 32;
  Largest<kLanes> largest;
  float values[kLanes] = {}, others[kLanes] = {};
  for (int64_t first = 0; first < count; first += kLanes) {
    const int64_t some = std::min(kLanes, count - first);
    std::copy(sums + first, sums + first + some, values);
    for (int64_t lane = 0; lane < kLanes; ++lane) values[lane] += bias;
    if (residual != nullptr) {
      std::copy(residual + first, residual + first + some, others);
      for (int64_t lane = 0; lane < kLanes; ++lane) values[lane] += others[lane];
    }
    largest.add(values);
    activate<kLanes>(epilogue, values);
    std::copy(values, values + some, out + first);
  }
  return largest.is_finite();
}

}  // namespace vta::calibration

#endif
