// Sums of the values of channels.
#include <cstdint>

#include "calibration/vectors.h"
#include "vta_calibration.h"

namespace {

// Sums beside each other. As many on every processor: the order of additions is part of the result.
constexpr int64_t kSums = 32;

// Forced inline, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline double sum_of(const float* values, int64_t count) {
  double sums[kSums] = {};
  int64_t at = 0;
  for (; at + kSums <= count; at += kSums) {
    for (int64_t i = 0; i < kSums; ++i) sums[i] += static_cast<double>(values[at + i]);
  }
  double total = 0.0;
  for (const double sum : sums) total += sum;
  for (; at < count; ++at) total += static_cast<double>(values[at]);
  return total;
}

__attribute__((always_inline)) inline void add_all(const float* values, int64_t images, int64_t channels, int64_t places,
                                                   double* sums) {
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t channel = 0; channel < channels; ++channel, values += places) sums[channel] += sum_of(values, places);
  }
}

void add_plain(const float* values, int64_t images, int64_t channels, int64_t places, double* sums) {
  add_all(values, images, channels, places, sums);
}
VTA_AVX2 void add_avx2(const float* values, int64_t images, int64_t channels, int64_t places, double* sums) {
  add_all(values, images, channels, places, sums);
}
VTA_AVX512 void add_avx512(const float* values, int64_t images, int64_t channels, int64_t places, double* sums) {
  add_all(values, images, channels, places, sums);
}

}  // namespace

void vta_channel_sums(const float* values, int64_t images, int64_t channels, int64_t places, double* sums) {
  vta::calibration::widest(add_plain, add_avx2, add_avx512)(values, images, channels, places, sums);
}
