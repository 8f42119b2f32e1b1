// Products of the values of patches with each other.
#ifndef VTA_CALIBRATION_PRODUCTS_H
#define VTA_CALIBRATION_PRODUCTS_H

#include <cstdint>

namespace vta::calibration {

// For each sample, some rows of `stride` values; of each row the first `values` count, and zeros follow.
struct Rows {
  const float* first;
  int64_t samples;
  int64_t sample_stride;
  int64_t rows;
  int64_t stride;
  int64_t values;
};

// Adds sum(row[i] * row[j]) of each sample to squares[i * stride + j], at least where i <= j. A sum is of single precision, its
// products added in order and each rounded once; sums are added in double precision.
void add_products(const Rows& rows, double* squares);

}  // namespace vta::calibration

#endif
