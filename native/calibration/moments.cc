// How the values under a kernel vary together.
#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

#include "calibration/products.h"
#include "vta_calibration.h"
#include "vta_common.h"

namespace {

using vta::calibration::add_products;

// Values of a block that is written along both axes.
constexpr int64_t kBlock = 32;

int64_t values_of(const vta_patches& patches) { return patches.channels * patches.kernel_height * patches.kernel_width; }

// One patch: the values of a group of channels around a place of the output, zeros outside of the data.
void gather(const vta_patches& p, const float* channels, int64_t place, float* out) {
  const int64_t top = place / p.out_width * p.stride_height - p.top, left = place % p.out_width * p.stride_width - p.left;
  for (int64_t channel = 0; channel < p.channels; ++channel, channels += p.height * p.width) {
    for (int64_t i = 0; i < p.kernel_height; ++i) {
      const int64_t y = top + i * p.dilation_height;
      const bool within = y >= 0 && y < p.height;
      for (int64_t j = 0; j < p.kernel_width; ++j) {
        const int64_t x = left + j * p.dilation_width;
        *out++ = within && x >= 0 && x < p.width ? channels[y * p.width + x] : 0.0F;
      }
    }
  }
}

// Rows of `stride` values: all rows and places of a group, one group after the other.
void gather_all(const vta_patches& p, const float* data, const int64_t* places, int64_t stride, float* out) {
  const int64_t group = p.channels * p.height * p.width;
  for (int64_t g = 0; g < p.groups; ++g) {
    for (int64_t row = 0; row < p.rows; ++row) {
      for (int64_t at = 0; at < p.places; ++at, out += stride) gather(p, data + (row * p.groups + g) * group, places[at], out);
    }
  }
}

// Takes the middles off the patches of a group and adds what is left to the totals.
void center(const vta_patches& p, float* rows, const float* middles, int64_t stride, double* totals, std::vector<double>* sums) {
  const int64_t values = values_of(p);
  sums->assign(static_cast<size_t>(values), 0.0);
  for (int64_t row = 0; row < p.rows * p.places; ++row, rows += stride) {
    for (int64_t at = 0; at < values; ++at) {
      rows[at] -= middles[at];
      (*sums)[static_cast<size_t>(at)] += static_cast<double>(rows[at]);
    }
  }
  for (int64_t at = 0; at < values; ++at) totals[at] += (*sums)[static_cast<size_t>(at)];
}

}  // namespace

void vta_moments_patches(const vta_patches* patches, const float* data, const int64_t* places, int64_t stride, float* out) {
  gather_all(*patches, data, places, stride, out);
}

int vta_moments_add(const vta_moments* moments, const vta_patches* patches, const float* data, const int64_t* places,
                    int64_t samples) {
  const vta_patches& p = *patches;
  const int64_t rows = p.rows * p.places, stride = moments->stride, sample = p.groups * rows * stride;
  try {
    std::vector<float> all(static_cast<size_t>(samples * sample));
    std::vector<double> sums;
    for (int64_t at = 0; at < samples; ++at, data += p.rows * p.groups * p.channels * p.height * p.width, places += p.places) {
      gather_all(p, data, places, stride, all.data() + at * sample);
      for (int64_t g = 0; g < p.groups; ++g) {
        float* patch = all.data() + at * sample + g * rows * stride;
        center(p, patch, moments->middles + g * stride, stride, moments->totals + g * stride, &sums);
      }
    }
    for (int64_t g = 0; g < p.groups; ++g) {
      add_products({all.data() + g * rows * stride, samples, sample, rows, stride, values_of(p)},
                   moments->squares + g * stride * stride);
    }
  } catch (const std::bad_alloc&) {
    return VTA_FAILED;
  }
  return VTA_DONE;
}

void vta_moments_covariance(const vta_moments* moments, const double* means, int64_t values, int64_t count, double* covariance) {
  const auto patches = static_cast<double>(count);
  for (int64_t top = 0; top < values; top += kBlock) {
    for (int64_t left = top; left < values; left += kBlock) {
      for (int64_t i = top; i < std::min(top + kBlock, values); ++i) {
        const double* squares = moments->squares + i * moments->stride;
        for (int64_t j = std::max(i, left); j < std::min(left + kBlock, values); ++j) {
          const double found = squares[j] / patches - means[i] * means[j];
          covariance[i * values + j] = found;
          covariance[j * values + i] = found;
        }
      }
    }
  }
}
