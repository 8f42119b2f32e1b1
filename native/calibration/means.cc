// Sums of the values of channels, and what rounded weights lose of means.
#include <cstdint>

#include "calibration/vectors.h"
#include "vta_calibration.h"

namespace {

// Sums beside each other. As many on every processor: the order of additions is part of the result.
constexpr int64_t kSums = 32;

// The sum of value(0) to value(count - 1). Forced inline, as what follows, so that it is compiled for the vector unit of its
// caller.
template <typename Value>
__attribute__((always_inline)) inline double sum_of(int64_t count, const Value& value) {
  double sums[kSums] = {};
  int64_t at = 0;
  for (; at + kSums <= count; at += kSums) {
    for (int64_t i = 0; i < kSums; ++i) sums[i] += value(at + i);
  }
  double total = 0.0;
  for (const double sum : sums) total += sum;
  for (; at < count; ++at) total += value(at);
  return total;
}

__attribute__((always_inline)) inline void add_all(const float* values, int64_t images, int64_t channels, int64_t places,
                                                   double* sums) {
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t channel = 0; channel < channels; ++channel, values += places) {
      const auto value = [values](int64_t at) __attribute__((always_inline)) { return static_cast<double>(values[at]); };
      sums[channel] += sum_of(places, value);
    }
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

struct Losses {
  const double* weights;
  const int8_t* rounded;
  const double* means;
  int64_t values;
};

// What one output loses.
__attribute__((always_inline)) inline double loss_of(const Losses& given, double scale) {
  return sum_of(given.values, [&](int64_t at) __attribute__((always_inline)) {
    return (given.weights[at] - static_cast<double>(given.rounded[at]) * scale) * given.means[at];
  });
}

double loss_plain(const Losses& given, double scale) { return loss_of(given, scale); }
VTA_AVX2 double loss_avx2(const Losses& given, double scale) { return loss_of(given, scale); }
VTA_AVX512 double loss_avx512(const Losses& given, double scale) { return loss_of(given, scale); }

}  // namespace

void vta_channel_sums(const float* values, int64_t images, int64_t channels, int64_t places, double* sums) {
  vta::calibration::widest(add_plain, add_avx2, add_avx512)(values, images, channels, places, sums);
}

void vta_mean_losses(const vta_rounded_weights* weights, double* losses) {
  const vta_rounded_weights& w = *weights;
  const auto loss = vta::calibration::widest(loss_plain, loss_avx2, loss_avx512);
  for (int64_t at = 0; at < w.groups * w.outputs; ++at) {
    const Losses given{w.weights + at * w.values, w.rounded + at * w.values, w.means + at / w.outputs * w.values, w.values};
    losses[at] = loss(given, w.scales[at]);
  }
}
