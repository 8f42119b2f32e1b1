// How the values under a kernel vary together.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "calibration/products.h"
#include "calibration/vectors.h"
#include "vta_calibration.h"
#include "vta_common.h"

namespace {

using vta::calibration::add_products;
using vta::calibration::kPanel;

// Values of a block that is written along both axes.
constexpr int64_t kBlock = 32;

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

// One patch: the values of a group of channels around a place of the output, zeros outside of the data.
void gather(const vta_patches& p, const float* channels, int64_t place, float* out) {
  const Reach down = reach_of(place / p.out_width * p.stride_height - p.top, p.kernel_height, p.dilation_height, p.height);
  const Reach across = reach_of(place % p.out_width * p.stride_width - p.left, p.kernel_width, p.dilation_width, p.width);
  const bool within = down.first == 0 && down.last == p.kernel_height && across.first == 0 && across.last == p.kernel_width;
  if (within && p.dilation_width == 1 && p.kernel_width == 1) return gather_within<1, 1>(p, channels, down, across, out);
  if (within && p.dilation_width == 1 && p.kernel_width == 3) return gather_within<3, 4>(p, channels, down, across, out);
  std::memset(out, 0, static_cast<size_t>(values_of(p)) * sizeof *out);
  for (int64_t channel = 0; channel < p.channels; ++channel, channels += p.height * p.width) {
    for (int64_t i = down.first; i < down.last; ++i) {
      const float* row = channels + (down.start + i * p.dilation_height) * p.width + across.start;
      float* to = out + (channel * p.kernel_height + i) * p.kernel_width;
      for (int64_t j = across.first; j < across.last; ++j) to[j] = row[j * p.dilation_width];
    }
  }
}

// The patches of a group in a sample: rows of `stride` values.
void gather_group(const vta_patches& p, const float* sample, int64_t group, const int64_t* places, int64_t stride, float* out) {
  const int64_t size = p.channels * p.height * p.width;
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t at = 0; at < p.places; ++at, out += stride) gather(p, sample + (row * p.groups + group) * size, places[at], out);
  }
}

// Takes the middles off rows, adds what is left to the totals, and puts it into panels, `step` values apart. Forced inline, so that
// it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline void center_rows(const float* rows, int64_t count, const float* middles, int64_t stride,
                                                       int64_t step, float* panels, double* totals) {
  for (int64_t first = 0; first < stride; first += kPanel, panels += step) {
    double sums[kPanel] = {};
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t at = 0; at < kPanel; ++at) {
        const float left = rows[row * stride + first + at] - middles[first + at];
        panels[row * kPanel + at] = left;
        sums[at] += static_cast<double>(left);
      }
    }
    for (int64_t at = 0; at < kPanel; ++at) totals[first + at] += sums[at];
  }
}

void center_plain(const float* rows, int64_t count, const float* middles, int64_t stride, int64_t step, float* panels,
                  double* totals) {
  center_rows(rows, count, middles, stride, step, panels, totals);
}
VTA_AVX2 void center_avx2(const float* rows, int64_t count, const float* middles, int64_t stride, int64_t step, float* panels,
                          double* totals) {
  center_rows(rows, count, middles, stride, step, panels, totals);
}
VTA_AVX512 void center_avx512(const float* rows, int64_t count, const float* middles, int64_t stride, int64_t step, float* panels,
                              double* totals) {
  center_rows(rows, count, middles, stride, step, panels, totals);
}

}  // namespace

void vta_moments_patches(const vta_patches* patches, const float* data, const int64_t* places, int64_t stride, float* out) {
  for (int64_t group = 0; group < patches->groups; ++group) {
    gather_group(*patches, data, group, places, stride, out + group * patches->rows * patches->places * stride);
  }
}

int vta_moments_add(const vta_moments* moments, const vta_patches* patches, const float* data, const int64_t* places,
                    int64_t samples) {
  const vta_patches& p = *patches;
  const int64_t rows = p.rows * p.places, stride = moments->stride, size = p.rows * p.groups * p.channels * p.height * p.width;
  const int64_t step = samples * rows * kPanel;
  const auto center = vta::calibration::widest(center_plain, center_avx2, center_avx512);
  try {
    // What is behind the values of a patch stays zero.
    std::vector<float> patch(static_cast<size_t>(rows * stride)), panels(static_cast<size_t>(samples * rows * stride));
    for (int64_t g = 0; g < p.groups; ++g) {
      for (int64_t at = 0; at < samples; ++at) {
        gather_group(p, data + at * size, g, places + at * p.places, stride, patch.data());
        float* first = panels.data() + at * rows * kPanel;
        center(patch.data(), rows, moments->middles + g * stride, stride, step, first, moments->totals + g * stride);
      }
      add_products({panels.data(), samples, rows, values_of(p)}, stride, moments->squares + g * stride * stride);
    }
  } catch (const std::bad_alloc&) {
    return VTA_FAILED;
  }
  return VTA_DONE;
}

void vta_moments_covariance(const vta_moments* moments, const double* means, int64_t values, int64_t count) {
  const auto patches = static_cast<double>(count);
  for (int64_t top = 0; top < values; top += kBlock) {
    for (int64_t left = top; left < values; left += kBlock) {
      for (int64_t i = top; i < std::min(top + kBlock, values); ++i) {
        double* squares = moments->squares + i * moments->stride;
        for (int64_t j = std::max(i, left); j < std::min(left + kBlock, values); ++j) {
          squares[j] = squares[j] / patches - means[i] * means[j];
          moments->squares[j * moments->stride + i] = squares[j];
        }
      }
    }
  }
}
