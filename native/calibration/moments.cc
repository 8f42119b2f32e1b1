// How the values under a kernel vary together.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "calibration/products.h"
#include "vta_calibration.h"
#include "vta_common.h"

namespace {

using vta::calibration::kBlock;
using vta::calibration::ProductKernels;
using vta::calibration::Rows;

// Blocks that are multiplied together, at most: two panels of so many stay in the first cache.
constexpr int64_t kMostBlocks = 8;
// Values of a square that is written along both axes.
constexpr int64_t kSquare = 32;

int64_t values_of(const vta_patches& patches) { return patches.channels * patches.kernel_height * patches.kernel_width; }

// Of one axis: where the first value under a kernel lies, and which values under it are within the data.
struct Reach {
  int64_t start;
  int64_t first;
  int64_t last;
};

Reach reach_of(int64_t start, int64_t kernel, int64_t dilation, int64_t size) {
  const int64_t before = start < 0 ? (-start + dilation - 1) / dilation : 0;
  const int64_t within = start < size ? (size - start + dilation - 1) / dilation : 0;
  const int64_t last = std::min(kernel, within);
  return {start, std::min(before, last), last};
}

// Where a patch lies that is so many patches behind the first one, in the order of samples, rows and places.
struct Place {
  const float* channels;
  int64_t place;
};

Place place_of(const vta_patches& p, const float* data, int64_t group, const int64_t* places, int64_t patch) {
  const int64_t size = p.channels * p.height * p.width, each = p.rows * p.places;
  const int64_t sample = patch / each, at = patch % each;
  return {data + ((sample * p.rows + at / p.places) * p.groups + group) * size, places[sample * p.places + at % p.places]};
}

// A patch that lies within the data, of a kernel whose columns lie beside each other. What is copied behind a row of it is
// overwritten by the next one.
template <int64_t kColumns, int64_t kCopied>
void gather_within(const vta_patches& p, const float* channels, const Reach& down, const Reach& across, float* out) {
  const int64_t step = p.dilation_height * p.width;
  for (int64_t channel = 0; channel < p.channels; ++channel, channels += p.height * p.width) {
    const float* row = channels + down.start * p.width + across.start;
    const int64_t last = channel + 1 < p.channels ? p.kernel_height : p.kernel_height - 1;
    for (int64_t i = 0; i < last; ++i, row += step, out += kColumns) std::memcpy(out, row, kCopied * sizeof *out);
    if (last < p.kernel_height) std::memcpy(out, row, kColumns * sizeof *out);
  }
}

// A patch of a kernel with three columns beside each other, of which those from kFirst to kLast lie within the data.
template <int64_t kFirst, int64_t kLast>
void gather_three(const vta_patches& p, const float* channels, const Reach& down, const Reach& across, float* out) {
  const int64_t step = p.dilation_height * p.width;
  for (int64_t channel = 0; channel < p.channels; ++channel, channels += p.height * p.width) {
    for (int64_t i = 0; i < p.kernel_height; ++i, out += 3) {
      const bool within = i >= down.first && i < down.last;
      const float* row = channels + down.start * p.width + across.start + i * step;
      for (int64_t j = 0; j < 3; ++j) out[j] = within && j >= kFirst && j < kLast ? row[j] : 0.0F;
    }
  }
}

// One patch: the values of a group of channels around a place of the output, zeros outside of the data.
void gather(const vta_patches& p, const Place& at, float* out) {
  const float* channels = at.channels;
  const Reach down = reach_of(at.place / p.out_width * p.stride_height - p.top, p.kernel_height, p.dilation_height, p.height);
  const Reach across = reach_of(at.place % p.out_width * p.stride_width - p.left, p.kernel_width, p.dilation_width, p.width);
  const bool within = down.first == 0 && down.last == p.kernel_height && across.first == 0 && across.last == p.kernel_width;
  if (within && p.dilation_width == 1 && p.kernel_width == 1) return gather_within<1, 1>(p, channels, down, across, out);
  if (within && p.dilation_width == 1 && p.kernel_width == 3) return gather_within<3, 4>(p, channels, down, across, out);
  if (p.dilation_width == 1 && p.kernel_width == 3) {
    if (across.first == 0 && across.last == 3) return gather_three<0, 3>(p, channels, down, across, out);
    if (across.first == 0 && across.last == 2) return gather_three<0, 2>(p, channels, down, across, out);
    if (across.first == 1 && across.last == 3) return gather_three<1, 3>(p, channels, down, across, out);
  }
  std::memset(out, 0, static_cast<size_t>(values_of(p)) * sizeof *out);
  for (int64_t channel = 0; channel < p.channels; ++channel, channels += p.height * p.width) {
    for (int64_t i = down.first; i < down.last; ++i) {
      const float* row = channels + (down.start + i * p.dilation_height) * p.width + across.start;
      float* to = out + (channel * p.kernel_height + i) * p.kernel_width;
      for (int64_t j = across.first; j < across.last; ++j) to[j] = row[j * p.dilation_width];
    }
  }
}

// Patches whose products are added up in single precision before they are added to those of others.
constexpr int64_t kRun = 4096;

// Sums of one group, and the blocks of patches that are still to be multiplied.
struct Sums {
  const ProductKernels& kernels;
  Rows rows;
  int64_t values;
  const float* middles;
  float* waiting;
  float* products;
  double* totals;
  double* squares;
  int64_t blocks;
};

Sums sums_of(const vta_moments& m, const ProductKernels& kernels, const Rows& rows, int64_t values, int64_t group) {
  const int64_t all = m.stride * m.stride;
  return {kernels,
          rows,
          values,
          m.middles + group * m.stride,
          m.waiting + group * kBlock * m.stride,
          m.products + group * all,
          m.totals + group * m.stride,
          m.squares + group * all,
          0};
}

void multiply(Sums* sums) {
  if (sums->blocks == 0) return;
  sums->kernels.add(sums->rows, sums->blocks, sums->values, sums->products);
  sums->blocks = 0;
}

// The patches that wait become a block.
void take_in(Sums* sums, int64_t count) {
  sums->kernels.take_in(sums->rows, sums->blocks++, sums->waiting, count, sums->middles, sums->totals);
  if (sums->blocks == sums->rows.blocks) multiply(sums);
}

void end_run(Sums* sums) {
  multiply(sums);
  for (int64_t i = 0; i < sums->values; ++i) {
    float* products = sums->products + i * sums->rows.stride;
    double* squares = sums->squares + i * sums->rows.stride;
    for (int64_t j = i; j < sums->values; ++j) squares[j] += static_cast<double>(products[j]);
    std::fill(products, products + sums->rows.stride, 0.0F);
  }
}

// Room for blocks, and how they are multiplied.
struct Work {
  std::unique_ptr<uint32_t[]> words;
  Rows rows;
  ProductKernels kernels;
};

Work work_for(const vta_moments& moments, int64_t patches) {
  const int64_t blocks = std::min((patches + kBlock - 1) / kBlock, kMostBlocks);
  Work work;
  work.words.reset(new (std::nothrow) uint32_t[static_cast<size_t>(blocks * kBlock * moments.stride)]);
  work.rows = {work.words.get(), blocks, moments.stride};
  const bool tiles = moments.vectors == 0 && vta::calibration::has_tiles();
  work.kernels = tiles ? vta::calibration::tile_products() : vta::calibration::vector_products();
  return work;
}

}  // namespace

void vta_moments_patches(const vta_patches* patches, const float* data, const int64_t* places, int64_t stride, float* out) {
  for (int64_t group = 0; group < patches->groups; ++group) {
    for (int64_t patch = 0; patch < patches->rows * patches->places; ++patch, out += stride) {
      gather(*patches, place_of(*patches, data, group, places, patch), out);
    }
  }
}

int vta_moments_has_tiles(void) { return vta::calibration::has_tiles() ? 1 : 0; }

int vta_moments_add(vta_moments* moments, const vta_patches* patches, const float* data, const int64_t* places, int64_t samples) {
  const int64_t count = samples * patches->rows * patches->places, stride = moments->stride, before = moments->met;
  const Work work = work_for(*moments, count + kBlock - 1);
  if (!work.words) return VTA_FAILED;
  for (int64_t group = 0; group < patches->groups; ++group) {
    Sums sums = sums_of(*moments, work.kernels, work.rows, values_of(*patches), group);
    for (int64_t patch = 0; patch < count; ++patch) {
      const int64_t met = before + patch;
      gather(*patches, place_of(*patches, data, group, places, patch), sums.waiting + met % kBlock * stride);
      if ((met + 1) % kBlock == 0) take_in(&sums, kBlock);
      if ((met + 1) % kRun == 0) end_run(&sums);
    }
    multiply(&sums);
  }
  moments->met += count;
  return VTA_DONE;
}

int vta_moments_end(const vta_moments* moments, const vta_patches* patches) {
  const Work work = work_for(*moments, kBlock);
  if (!work.words) return VTA_FAILED;
  for (int64_t group = 0; group < patches->groups; ++group) {
    Sums sums = sums_of(*moments, work.kernels, work.rows, values_of(*patches), group);
    if (moments->met % kBlock != 0) take_in(&sums, moments->met % kBlock);
    end_run(&sums);
  }
  return VTA_DONE;
}

void vta_moments_covariance(const vta_moments* moments, const double* means, int64_t values, int64_t count) {
  const auto patches = static_cast<double>(count);
  for (int64_t top = 0; top < values; top += kSquare) {
    for (int64_t left = top; left < values; left += kSquare) {
      for (int64_t i = top; i < std::min(top + kSquare, values); ++i) {
        double* squares = moments->squares + i * moments->stride;
        for (int64_t j = std::max(i, left); j < std::min(left + kSquare, values); ++j) {
          squares[j] = squares[j] / patches - means[i] * means[j];
          moments->squares[j * moments->stride + i] = squares[j];
        }
      }
    }
  }
}
