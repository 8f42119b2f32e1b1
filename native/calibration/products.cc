#include "calibration/products.h"

#include <algorithm>
#include <cmath>

namespace vta::calibration {
namespace {

constexpr int64_t kHigh = 8, kWide = 32;

// Forced inline, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline void add_tile(const Rows& rows, int64_t i, int64_t j, double* squares) {
  double totals[kHigh][kWide];
  for (int64_t a = 0; a < kHigh; ++a) {
    for (int64_t b = 0; b < kWide; ++b) totals[a][b] = squares[(i + a) * rows.stride + j + b];
  }
  for (int64_t sample = 0; sample < rows.samples; ++sample) {
    const float* row = rows.first + sample * rows.sample_stride;
    float sums[kHigh][kWide] = {};
    for (int64_t k = 0; k < rows.rows; ++k, row += rows.stride) {
      for (int64_t a = 0; a < kHigh; ++a) {
        for (int64_t b = 0; b < kWide; ++b) sums[a][b] = std::fma(row[i + a], row[j + b], sums[a][b]);
      }
    }
    for (int64_t a = 0; a < kHigh; ++a) {
      for (int64_t b = 0; b < kWide; ++b) totals[a][b] += static_cast<double>(sums[a][b]);
    }
  }
  for (int64_t a = 0; a < kHigh; ++a) {
    for (int64_t b = 0; b < kWide; ++b) squares[(i + a) * rows.stride + j + b] = totals[a][b];
  }
}

__attribute__((always_inline)) inline void add_all(const Rows& rows, double* squares) {
  for (int64_t i = 0; i < rows.values; i += kHigh) {
    for (int64_t j = i / kWide * kWide; j < rows.values; j += kWide) add_tile(rows, i, j, squares);
  }
}

void add_plain(const Rows& rows, double* squares) { add_all(rows, squares); }

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void add_avx2(const Rows& rows, double* squares) { add_all(rows, squares); }
#if defined(__clang__)
__attribute__((target("avx512f,avx512bw,avx512vl")))
#else
__attribute__((target("avx512f,avx512bw,avx512vl,prefer-vector-width=512")))
#endif
void add_avx512(const Rows& rows, double* squares) {
  add_all(rows, squares);
}
#endif

}  // namespace

void add_products(const Rows& rows, double* squares) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) return add_avx512(rows, squares);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return add_avx2(rows, squares);
#endif
  add_plain(rows, squares);
}

}  // namespace vta::calibration
