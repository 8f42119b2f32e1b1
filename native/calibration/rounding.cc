// Weights in steps: how far off they are at a scale, rounded, and how large they are together.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "calibration/vectors.h"
#include "vta_calibration.h"

namespace {

using vta::calibration::widest;

// Sums beside each other, so that what is added up does not wait for what was added before. As many on every processor: the order
// of additions is part of the result.
constexpr int64_t kSums = 16;
constexpr float kLargest = 127.0F;
// Magnitudes whose sum fits 32 bits.
constexpr int64_t kAtOnce = 1 << 20;

struct Errors {
  const float* weights;
  const float* scales;
  int64_t rows;
  int64_t values;
  double* errors;
};

inline __attribute__((always_inline)) double squared_error(float weight, float scale) {
  const float level = std::max(-kLargest, std::min(kLargest, std::rint(weight / scale)));
  const double error = static_cast<double>(level * scale - weight);
  return error * error;
}

inline __attribute__((always_inline)) void find_errors(const Errors& given) {
  const float* row = given.weights;
  for (int64_t at = 0; at < given.rows; ++at, row += given.values) {
    const float scale = given.scales[at];
    std::array<double, kSums> sums{};
    int64_t first = 0;
    for (; first + kSums <= given.values; first += kSums) {
      for (size_t i = 0; i < kSums; ++i) sums[i] += squared_error(row[first + static_cast<int64_t>(i)], scale);
    }
    double total = 0.0;
    for (const double sum : sums) total += sum;
    for (; first < given.values; ++first) total += squared_error(row[first], scale);
    given.errors[at] = total;
  }
}

template <typename Weight>
struct Rounding {
  const Weight* weights;
  const double* scales;
  int64_t rows;
  int64_t values;
  int8_t* rounded;
};

template <typename Weight>
inline __attribute__((always_inline)) void round_rows(const Rounding<Weight>& given) {
  // Copies: a compiler must take it that what is written, as bytes, may be `given` itself.
  const int64_t rows = given.rows, values = given.values;
  const Weight* row = given.weights;
  int8_t* rounded = given.rounded;
  for (int64_t at = 0; at < rows; ++at, row += values, rounded += values) {
    const double scale = given.scales[at];
    for (int64_t i = 0; i < values; ++i) {
      // The floor of this, by a function that GCC has for vectors.
      const double above = static_cast<double>(row[i]) / scale + 0.5, nearest = std::rint(above);
      const double level = nearest > above ? nearest - 1.0 : nearest;
      rounded[i] = static_cast<int8_t>(static_cast<int32_t>(std::max(-127.0, std::min(127.0, level))));
    }
  }
}

struct Magnitudes {
  const int8_t* weights;
  int64_t rows;
  int64_t values;
  int64_t* sums;
};

inline __attribute__((always_inline)) void add_magnitudes(const Magnitudes& given) {
  const int8_t* row = given.weights;
  for (int64_t at = 0; at < given.rows; ++at, row += given.values) {
    int64_t total = 0;
    for (int64_t first = 0; first < given.values; first += kAtOnce) {
      const int64_t end = std::min(first + kAtOnce, given.values);
      int32_t sum = 0;
      for (int64_t i = first; i < end; ++i) sum += std::abs(static_cast<int32_t>(row[i]));
      total += sum;
    }
    given.sums[at] = total;
  }
}

void errors_plain(const Errors& given) { find_errors(given); }
VTA_AVX2 void errors_avx2(const Errors& given) { find_errors(given); }
VTA_AVX512 void errors_avx512(const Errors& given) { find_errors(given); }
void magnitudes_plain(const Magnitudes& given) { add_magnitudes(given); }
VTA_AVX2 void magnitudes_avx2(const Magnitudes& given) { add_magnitudes(given); }
VTA_AVX512 void magnitudes_avx512(const Magnitudes& given) { add_magnitudes(given); }
template <typename Weight>
void round_plain(const Rounding<Weight>& given) {
  round_rows(given);
}
template <typename Weight>
VTA_AVX512 void round_avx512(const Rounding<Weight>& given) {
  round_rows(given);
}
template <typename Weight>
VTA_AVX2 void round_avx2(const Rounding<Weight>& given) {
  round_rows(given);
}

template <typename Weight>
void round_by_processor(const Rounding<Weight>& given) {
  widest(round_plain<Weight>, round_avx2<Weight>, round_avx512<Weight>)(given);
}

}  // namespace

void vta_weight_errors(const float* weights, const float* scales, int64_t rows, int64_t values, double* errors) {
  const Errors given{weights, scales, rows, values, errors};
  widest(errors_plain, errors_avx2, errors_avx512)(given);
}

void vta_round_floats(const float* weights, const double* scales, int64_t rows, int64_t values, int8_t* rounded) {
  round_by_processor<float>({weights, scales, rows, values, rounded});
}

void vta_round_doubles(const double* weights, const double* scales, int64_t rows, int64_t values, int8_t* rounded) {
  round_by_processor<double>({weights, scales, rows, values, rounded});
}

void vta_magnitude_sums(const int8_t* weights, int64_t rows, int64_t values, int64_t* sums) {
  const Magnitudes given{weights, rows, values, sums};
  widest(magnitudes_plain, magnitudes_avx2, magnitudes_avx512)(given);
}
