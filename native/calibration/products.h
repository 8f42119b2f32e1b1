// Products of the values of patches with each other.
#ifndef VTA_CALIBRATION_PRODUCTS_H
#define VTA_CALIBRATION_PRODUCTS_H

#include <cstdint>
#include <cstring>

#include "vta_calibration.h"

namespace vta::calibration {

// Rows whose products are added up before they are added to those of others.
constexpr int64_t kBlock = VTA_MOMENTS_BLOCK;

// Bits of the least magnitude that is not taken for zero, 2^-50.
constexpr uint32_t kLeastBits = (127U - 50U) << 23;

// The nearest value with 8 significant bits (bfloat16), halves to even. What is nearer to zero than 2^-50 becomes zero, so that no
// product or sum of products is so small that processors differ.
__attribute__((always_inline)) inline float rounded(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  const uint32_t nearest = (bits + 0x7FFFU + ((bits >> 16) & 1U)) & 0xFFFF0000U;
  const uint32_t not_finite = (bits & 0xFFFF0000U) | (magnitude > 0x7F800000U ? 0x00400000U : 0U);
  bits = magnitude < kLeastBits ? 0U : magnitude >= 0x7F800000U ? not_finite : nearest;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Room for some blocks of rows, in the form in which they are multiplied: stride * blocks * kBlock words.
struct Rows {
  uint32_t* words;
  int64_t blocks;  // that there is room for
  int64_t stride;  // values of a row, a multiple of 32
};

// How rows are taken in and multiplied; each pair of functions has a form of rows of its own, and all have the same results.
struct ProductKernels {
  // Takes the middles off `count` patches of `stride` values, rounds what is left, adds it to the totals, and puts it into a block;
  // the other rows of the block become zeros.
  void (*take_in)(const Rows& rows, int64_t block, const float* patches, int64_t count, const float* middles, double* totals);
  // Adds products row[i] * row[j] of the first blocks to sums[i * stride + j], at least where i <= j < values. In a block, the
  // products of every other row are added in order, each rounded once, and those of the rows between; then one sum to the other,
  // and blocks in order.
  void (*add)(const Rows& rows, int64_t blocks, int64_t values, float* sums);
};

// By vectors, which all processors have.
ProductKernels vector_products();

// By matrix tiles (AMX); whether the processor has them, and the system lets this process use them.
bool has_tiles();
ProductKernels tile_products();

}  // namespace vta::calibration

#endif
