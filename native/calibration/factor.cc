// Factors of covariances.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "calibration/vectors.h"
#include "vta_calibration.h"
#include "vta_common.h"

namespace {

// Rows of a block, which is as many columns wide where it is on the diagonal; two blocks are computed together.
constexpr int64_t kRows = VTA_FACTOR_ROWS, kPair = 2 * kRows;

// A column of two blocks, one below the other.
struct Column {
  double of[kPair];
};

// The block on the diagonal, below it, column by column; and what the columns are multiplied by.
struct Triangle {
  double below[kRows][kRows];
  double inverse[kRows];
};

struct Matrix {
  double* values;
  int64_t blocks;

  int64_t block_size() const { return blocks * kRows * kRows; }
  double* block(int64_t at) const { return values + at * block_size(); }
};

// Takes off the sums of products of what is left of some columns, added up in order: of two blocks of rows, and the block that has the columns as rows.
// Forced inline, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline void subtract_products(const double* columns, const double* first, const double* second,
                                                             int64_t left, Column (&values)[kRows]) {
  double sums[kRows][kPair] = {};
  for (int64_t k = 0; k < left; ++k, columns += kRows, first += kRows, second += kRows) {
    double rows[kPair];
    std::memcpy(rows, first, sizeof rows / 2);
    std::memcpy(rows + kRows, second, sizeof rows / 2);
    for (int64_t a = 0; a < kRows; ++a) {
#pragma GCC unroll 1  // a loop that stays a loop is vectorised
      for (int64_t b = 0; b < kPair; ++b) sums[a][b] = std::fma(columns[a], rows[b], sums[a][b]);
    }
  }
  for (int64_t a = 0; a < kRows; ++a) {
    for (int64_t b = 0; b < kPair; ++b) values[a].of[b] -= sums[a][b];
  }
}

__attribute__((always_inline)) inline void divide(const Triangle& triangle, Column (&values)[kRows]) {
  for (int64_t column = 0; column < kRows; ++column) {
    for (int64_t b = 0; b < kPair; ++b) values[column].of[b] *= triangle.inverse[column];
    for (int64_t other = column + 1; other < kRows; ++other) {
      const double factor = -triangle.below[column][other];
      for (int64_t b = 0; b < kPair; ++b) values[other].of[b] = std::fma(factor, values[column].of[b], values[other].of[b]);
    }
  }
}

// Factors a block on the diagonal, in place, as far as `width`; false if there is no factor.
bool factor_triangle(double* block, int64_t width, Triangle* triangle) {
  *triangle = {};
  for (int64_t column = 0; column < width; ++column) {
    double* values = block + column * kRows;
    // What is no number is not above zero either.
    if (!(values[column] > 0.0)) return false;
    values[column] = std::sqrt(values[column]);
    triangle->inverse[column] = 1.0 / values[column];
    for (int64_t row = column + 1; row < kRows; ++row) {
      values[row] *= triangle->inverse[column];
      triangle->below[column][row] = values[row];
    }
    for (int64_t other = column + 1; other < kRows; ++other) {
      for (int64_t row = other; row < kRows; ++row) {
        block[other * kRows + row] = std::fma(-values[other], values[row], block[other * kRows + row]);
      }
    }
  }
  return true;
}

// Updates the columns on the diagonal of block `at` in two blocks, which may be one: takes off what is left of them, and divides by
// the triangle where one is given.
__attribute__((always_inline)) inline void update(const Matrix& matrix, int64_t at, int64_t first, int64_t second,
                                                  const Triangle* triangle) {
  const int64_t left = at * kRows;
  double *above = matrix.block(first) + left * kRows, *below = matrix.block(second) + left * kRows;
  Column values[kRows];
  for (int64_t a = 0; a < kRows; ++a) {
    std::memcpy(values[a].of, above + a * kRows, kRows * sizeof(double));
    std::memcpy(values[a].of + kRows, below + a * kRows, kRows * sizeof(double));
  }
  subtract_products(matrix.block(at), matrix.block(first), matrix.block(second), left, values);
  if (triangle != nullptr) divide(*triangle, values);
  for (int64_t a = 0; a < kRows; ++a) {
    std::memcpy(above + a * kRows, values[a].of, kRows * sizeof(double));
    std::memcpy(below + a * kRows, values[a].of + kRows, kRows * sizeof(double));
  }
}

// L of a matrix, in its place, some columns after the others; false if there is none.
__attribute__((always_inline)) inline bool factor_all(const Matrix& matrix, int64_t size) {
  for (int64_t at = 0; at < matrix.blocks; ++at) {
    update(matrix, at, at, at, nullptr);
    Triangle triangle;
    const int64_t left = at * kRows;
    if (!factor_triangle(matrix.block(at) + left * kRows, std::min(kRows, size - left), &triangle)) return false;
    for (int64_t first = at + 1; first < matrix.blocks; first += 2) {
      update(matrix, at, first, std::min(first + 1, matrix.blocks - 1), &triangle);
    }
  }
  return true;
}

bool factor_plain(const Matrix& matrix, int64_t size) { return factor_all(matrix, size); }
VTA_AVX2 bool factor_avx2(const Matrix& matrix, int64_t size) { return factor_all(matrix, size); }
VTA_AVX512 bool factor_avx512(const Matrix& matrix, int64_t size) { return factor_all(matrix, size); }

}  // namespace

int vta_factor_covariance(const double* covariance, const double* own, const int64_t* order, int64_t values, double share,
                          double* lower) {
  const Matrix matrix{lower, (values + kRows - 1) / kRows};
  for (int64_t at = 0; at < matrix.blocks; ++at) {
    double* block = matrix.block(at);
    const int64_t first = at * kRows;
    for (int64_t row = first; row < first + kRows; ++row) {
      const int64_t known = std::min(row, values);
      const double* from = covariance + order[std::min(row, values - 1)] * values;
      for (int64_t column = 0; column < first + kRows; ++column) {
        const bool within = row < values && column < known;
        block[column * kRows + row - first] = within ? share * from[order[column]] : 0.0;
      }
      if (row < values) block[row * kRows + row - first] = own[order[row]];
    }
  }
  const auto factor = vta::calibration::widest(factor_plain, factor_avx2, factor_avx512);
  return factor(matrix, values) ? VTA_DONE : VTA_MORE;
}
