// How the values under a kernel vary together.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "calibration/products.h"
#include "vta_calibration.h"
#include "vta_common.h"

namespace {

using vta::calibration::add_products;
using vta::calibration::kPanel;

// Values of a block that is written along both axes.
constexpr int64_t kBlock = 32;

int64_t values_of(const vta_patches& patches) { return patches.channels * patches.kernel_height * patches.kernel_width; }

// The rows and columns of a kernel that meet data around a place of the output.
struct Window {
  int64_t top;
  int64_t left;
  bool within;
};

Window window_of(const vta_patches& p, int64_t place) {
  const int64_t top = place / p.out_width * p.stride_height - p.top, left = place % p.out_width * p.stride_width - p.left;
  const int64_t bottom = top + (p.kernel_height - 1) * p.dilation_height, right = left + (p.kernel_width - 1) * p.dilation_width;
  return {top, left, top >= 0 && bottom < p.height && left >= 0 && right < p.width};
}

// A patch that lies within the data, of a kernel whose columns lie beside each other.
template <int64_t kColumns>
void gather_within(const vta_patches& p, const float* channels, const Window& window, float* out) {
  const int64_t step = p.dilation_height * p.width;
  for (int64_t channel = 0; channel < p.channels; ++channel, channels += p.height * p.width) {
    const float* row = channels + window.top * p.width + window.left;
    for (int64_t i = 0; i < p.kernel_height; ++i, row += step, out += kColumns) {
      std::memcpy(out, row, kColumns * sizeof *out);
    }
  }
}

// One patch: the values of a group of channels around a place of the output, zeros outside of the data.
void gather(const vta_patches& p, const float* channels, int64_t place, float* out) {
  const Window window = window_of(p, place);
  if (window.within && p.dilation_width == 1 && p.kernel_width == 1) return gather_within<1>(p, channels, window, out);
  if (window.within && p.dilation_width == 1 && p.kernel_width == 3) return gather_within<3>(p, channels, window, out);
  for (int64_t channel = 0; channel < p.channels; ++channel, channels += p.height * p.width) {
    for (int64_t i = 0; i < p.kernel_height; ++i) {
      const int64_t y = window.top + i * p.dilation_height, row = y * p.width;
      const bool within = y >= 0 && y < p.height;
      for (int64_t j = 0; j < p.kernel_width; ++j) {
        const int64_t x = window.left + j * p.dilation_width;
        *out++ = within && x >= 0 && x < p.width ? channels[row + x] : 0.0F;
      }
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

// Takes the middles off the patches of a group, adds what is left to the totals, and puts it into panels, `step` values apart.
void center(const vta_patches& p, const float* rows, const float* middles, int64_t stride, int64_t step, float* panels,
            double* totals, std::vector<double>* sums) {
  const int64_t values = values_of(p);
  sums->assign(static_cast<size_t>(stride), 0.0);
  for (int64_t row = 0; row < p.rows * p.places; ++row, rows += stride, panels += kPanel) {
    for (int64_t first = 0; first < stride; first += kPanel) {
      float* panel = panels + first / kPanel * step;
      for (int64_t at = 0; at < kPanel; ++at) {
        panel[at] = rows[first + at] - middles[first + at];
        (*sums)[static_cast<size_t>(first + at)] += static_cast<double>(panel[at]);
      }
    }
  }
  for (int64_t at = 0; at < values; ++at) totals[at] += (*sums)[static_cast<size_t>(at)];
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
  try {
    // What is behind the values of a patch stays zero.
    std::vector<float> patch(static_cast<size_t>(rows * stride)), panels(static_cast<size_t>(samples * rows * stride));
    std::vector<double> sums;
    for (int64_t g = 0; g < p.groups; ++g) {
      for (int64_t at = 0; at < samples; ++at) {
        gather_group(p, data + at * size, g, places + at * p.places, stride, patch.data());
        float* first = panels.data() + at * rows * kPanel;
        center(p, patch.data(), moments->middles + g * stride, stride, step, first, moments->totals + g * stride, &sums);
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
