#include "calibration/products.h"

#include <algorithm>
#include <cmath>

#include "calibration/vectors.h"

namespace vta::calibration {
namespace {

constexpr int64_t kHigh = 8, kWide = kPanel;

// Forced inline, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline void add_tile(const Rows& rows, int64_t i, int64_t j, int64_t stride, double* squares) {
  const int64_t panel = rows.samples * rows.rows * kPanel;
  const float *left = rows.panels + i / kPanel * panel + i % kPanel, *right = rows.panels + j / kPanel * panel;
  for (int64_t sample = 0; sample < rows.samples; ++sample) {
    // The first products stand for zeros: compilers would fill memory with those.
    float sums[kHigh][kWide];
    for (int64_t a = 0; a < kHigh; ++a) {
      for (int64_t b = 0; b < kWide; ++b) sums[a][b] = left[a] * right[b];
    }
    left += kPanel;
    right += kPanel;
    for (int64_t k = 1; k < rows.rows; ++k, left += kPanel, right += kPanel) {
      for (int64_t a = 0; a < kHigh; ++a) {
        for (int64_t b = 0; b < kWide; ++b) sums[a][b] = std::fma(left[a], right[b], sums[a][b]);
      }
    }
    for (int64_t a = 0; a < kHigh; ++a) {
      for (int64_t b = 0; b < kWide; ++b) squares[(i + a) * stride + j + b] += static_cast<double>(sums[a][b]);
    }
  }
}

// The right panel stays in the cache while the left ones pass.
__attribute__((always_inline)) inline void add_all(const Rows& rows, int64_t stride, double* squares) {
  for (int64_t j = 0; j < rows.values; j += kWide) {
    for (int64_t i = 0; i < std::min(j + kWide, rows.values); i += kHigh) add_tile(rows, i, j, stride, squares);
  }
}

void add_plain(const Rows& rows, int64_t stride, double* squares) { add_all(rows, stride, squares); }

VTA_AVX2 void add_avx2(const Rows& rows, int64_t stride, double* squares) { add_all(rows, stride, squares); }
VTA_AVX512 void add_avx512(const Rows& rows, int64_t stride, double* squares) { add_all(rows, stride, squares); }

}  // namespace

void add_products(const Rows& rows, int64_t stride, double* squares) {
  widest(add_plain, add_avx2, add_avx512)(rows, stride, squares);
}

}  // namespace vta::calibration
