// Convolutions of each channel by itself.
#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

#include "calibration/epilogue.h"
#include "calibration/vectors.h"
#include "vta_calibration.h"
#include "vta_common.h"

namespace {

using vta::calibration::finish;

struct Plane {
  const float* values;
  int64_t width;
};

// One row of a channel's output.
// Forced inline, so that it is compiled for the vector unit of its caller.
template <int64_t kStride>
__attribute__((always_inline)) inline void add_row(const float* from, int64_t stride, float weight, int64_t places, float* out) {
  const int64_t step = kStride == 0 ? stride : kStride;
  for (int64_t x = 0; x < places; ++x) out[x] += from[x * step] * weight;
}

__attribute__((always_inline)) inline void convolve_plane(const vta_convolution& c, const Plane& plane, const float* weights,
                                                          float* out) {
  for (int64_t y = 0; y < c.out_height; ++y, out += c.out_width) {
    std::fill(out, out + c.out_width, 0.0F);
    for (int64_t i = 0; i < c.kernel_height; ++i) {
      const float* row = plane.values + (y * c.stride_height + i * c.dilation_height) * plane.width;
      for (int64_t j = 0; j < c.kernel_width; ++j) {
        const float *from = row + j * c.dilation_width, weight = weights[i * c.kernel_width + j];
        if (c.stride_width == 1) {
          add_row<1>(from, 1, weight, c.out_width, out);
        } else if (c.stride_width == 2) {
          add_row<2>(from, 2, weight, c.out_width, out);
        } else {
          add_row<0>(from, c.stride_width, weight, c.out_width, out);
        }
      }
    }
  }
}

// What follows the output of a channel; whether all of it is finite before.
struct Following {
  const vta_epilogue* epilogue;  // perhaps NULL
  float bias;
  const float* residual;  // perhaps NULL
};

__attribute__((always_inline)) inline bool convolve_channel(const vta_convolution& c, const Plane& plane, const float* weights,
                                                            const Following& following, float* out) {
  convolve_plane(c, plane, weights, out);
  const vta_epilogue* epilogue = following.epilogue;
  return epilogue == nullptr || finish(out, c.out_height * c.out_width, following.bias, following.residual, *epilogue, out);
}

using Convolve = bool (*)(const vta_convolution& c, const Plane& plane, const float* weights, const Following& following, float* out);

bool convolve_plain(const vta_convolution& c, const Plane& plane, const float* weights, const Following& following, float* out) {
  return convolve_channel(c, plane, weights, following, out);
}

VTA_AVX2 bool convolve_avx2(const vta_convolution& c, const Plane& plane, const float* weights, const Following& following,
                            float* out) {
  return convolve_channel(c, plane, weights, following, out);
}

}  // namespace

int vta_convolve_channels(const vta_convolution* convolution, const float* data, const float* weights,
                          const vta_epilogue* epilogue, float* out) {
  const vta_convolution& c = *convolution;
  const int64_t height = c.top + c.height + c.bottom, width = c.left + c.width + c.right;
  const int64_t kernel = c.kernel_height * c.kernel_width;
  const bool is_padded = height != c.height || width != c.width;
  // Rows are short: wider vectors would win nothing.
  const Convolve convolve = vta::calibration::widest(convolve_plain, convolve_avx2, convolve_avx2);
  try {
    // What lies around the data stays zero.
    std::vector<float> padded(static_cast<size_t>(is_padded ? height * width : 0));
    for (int64_t part = 0; part < c.images * c.groups; ++part) {
      const float* plane = data + part * c.height * c.width;
      if (is_padded) {
        float* to = padded.data() + c.top * width + c.left;
        for (int64_t y = 0; y < c.height; ++y) std::copy(plane + y * c.width, plane + (y + 1) * c.width, to + y * width);
        plane = padded.data();
      }
      const int64_t channel = part % c.groups;
      const int64_t place = part * c.out_height * c.out_width;
      float* to = out + place;
      // What is added in place of a bias changes nothing, not even the sign of a zero.
      Following following{epilogue, -0.0F, nullptr};
      if (epilogue != nullptr && epilogue->biases != nullptr) following.bias = epilogue->biases[channel];
      if (epilogue != nullptr && epilogue->residual != nullptr) following.residual = epilogue->residual + place;
      if (!convolve(c, {plane, width}, weights + channel * kernel, following, to)) return VTA_MORE;
    }
  } catch (const std::bad_alloc&) {
    return VTA_FAILED;
  }
  return VTA_DONE;
}
