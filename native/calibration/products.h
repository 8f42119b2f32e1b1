// Products of the values of patches with each other.
#ifndef VTA_CALIBRATION_PRODUCTS_H
#define VTA_CALIBRATION_PRODUCTS_H

#include <cstdint>

namespace vta::calibration {

// Values of a row that lie beside each other; those of the next row follow.
constexpr int64_t kPanel = 32;

// The rows of some samples, one after the other, in panels of their values: all rows of a panel before those of the next. Each row
// has `values` values; zeros fill the last panel.
struct Rows {
  const float* panels;
  int64_t samples;
  int64_t rows;  // at least one
  int64_t values;
};

// Adds sum(row[i] * row[j]) of each sample to squares[i * stride + j], at least where i <= j; `stride` is the values of all panels. A sum is of single precision, its
// products added in order and each rounded once; sums are added in double precision.
void add_products(const Rows& rows, int64_t stride, double* squares);

}  // namespace vta::calibration

#endif
