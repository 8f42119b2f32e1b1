#include "calibration/products.h"

#include <algorithm>
#include <cmath>

#include "calibration/vectors.h"

namespace vta::calibration {
namespace {

// Values of a row that lie beside each other; those of the next row follow.
constexpr int64_t kPanel = 32;
constexpr int64_t kHigh = 8, kWide = kPanel;

float* panel_of(const Rows& rows, int64_t value) {
  static_assert(sizeof(float) == sizeof *rows.words);
  return reinterpret_cast<float*>(rows.words) + value / kPanel * (rows.blocks * kBlock * kPanel);
}

// Forced inline, as what follows, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline void take_in(const Rows& rows, int64_t block, const float* patches, int64_t count,
                                                   const float* middles, double* totals) {
  for (int64_t first = 0; first < rows.stride; first += kPanel) {
    float* panel = panel_of(rows, first) + block * kBlock * kPanel;
    double sums[kPanel] = {};
    for (int64_t row = 0; row < count; ++row, panel += kPanel) {
      const float* values = patches + row * rows.stride + first;
      for (int64_t at = 0; at < kPanel; ++at) panel[at] = rounded(values[at] - middles[first + at]);
      for (int64_t at = 0; at < kPanel; ++at) sums[at] += static_cast<double>(panel[at]);
    }
    std::fill(panel, panel + (kBlock - count) * kPanel, 0.0F);
    for (int64_t at = 0; at < kPanel; ++at) totals[first + at] += sums[at];
  }
}

using Tile = float[kHigh][kWide];

// Products of every other row of a block. The first ones stand for zeros: compilers would fill memory with those.
__attribute__((always_inline)) inline void multiply(const float* left, const float* right, Tile& out) {
  float sums[kHigh][kWide];
  for (int64_t a = 0; a < kHigh; ++a) {
    for (int64_t b = 0; b < kWide; ++b) sums[a][b] = left[a] * right[b];
  }
  for (int64_t row = 2; row < kBlock; row += 2) {
    left += 2 * kPanel;
    right += 2 * kPanel;
    for (int64_t a = 0; a < kHigh; ++a) {
      for (int64_t b = 0; b < kWide; ++b) sums[a][b] = std::fma(left[a], right[b], sums[a][b]);
    }
  }
  for (int64_t a = 0; a < kHigh; ++a) {
    for (int64_t b = 0; b < kWide; ++b) out[a][b] = sums[a][b];
  }
}

__attribute__((always_inline)) inline void add_tile(const Rows& rows, int64_t blocks, int64_t i, int64_t j, float* sums) {
  const float *left = panel_of(rows, i) + i % kPanel, *right = panel_of(rows, j);
  Tile even, odd;
  for (int64_t block = 0; block < blocks; ++block, left += kBlock * kPanel, right += kBlock * kPanel) {
    multiply(left, right, even);
    multiply(left + kPanel, right + kPanel, odd);
    for (int64_t a = 0; a < kHigh; ++a) {
      float* out = sums + (i + a) * rows.stride + j;
      for (int64_t b = 0; b < kWide; ++b) out[b] += even[a][b] + odd[a][b];
    }
  }
}

// The right panel stays in the cache while the left ones pass.
__attribute__((always_inline)) inline void add(const Rows& rows, int64_t blocks, int64_t values, float* sums) {
  for (int64_t j = 0; j < values; j += kWide) {
    for (int64_t i = 0; i < std::min(j + kWide, values); i += kHigh) add_tile(rows, blocks, i, j, sums);
  }
}

void take_in_plain(const Rows& rows, int64_t block, const float* patches, int64_t count, const float* middles, double* totals) {
  take_in(rows, block, patches, count, middles, totals);
}
VTA_AVX2 void take_in_avx2(const Rows& rows, int64_t block, const float* patches, int64_t count, const float* middles,
                           double* totals) {
  take_in(rows, block, patches, count, middles, totals);
}
VTA_AVX512 void take_in_avx512(const Rows& rows, int64_t block, const float* patches, int64_t count, const float* middles,
                               double* totals) {
  take_in(rows, block, patches, count, middles, totals);
}

void add_plain(const Rows& rows, int64_t blocks, int64_t values, float* sums) { add(rows, blocks, values, sums); }
VTA_AVX2 void add_avx2(const Rows& rows, int64_t blocks, int64_t values, float* sums) { add(rows, blocks, values, sums); }
VTA_AVX512 void add_avx512(const Rows& rows, int64_t blocks, int64_t values, float* sums) { add(rows, blocks, values, sums); }

}  // namespace

ProductKernels vector_products() {
  return {widest(take_in_plain, take_in_avx2, take_in_avx512), widest(add_plain, add_avx2, add_avx512)};
}

}  // namespace vta::calibration
