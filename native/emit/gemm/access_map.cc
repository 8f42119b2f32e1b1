#include "emit/gemm/access_map.h"

#include <algorithm>

namespace vta {

namespace {

// Adds the products of one phase that read rows inside the source; `whole` has them all, with rows counted from the source's
// first.
void add_inside(const AccessMap& whole, int64_t size, int64_t window, std::vector<AccessMap>& found) {
  int64_t last = -2;
  for (int64_t i = 0; i < whole.kernel_count; ++i) {
    const int64_t row = whole.row + i * whole.row_per_kernel;
    // A step of 0 reads the same row for all outputs, which is inside or is not.
    const int64_t per_output = std::max<int64_t>(1, whole.row_per_output);
    const bool same = whole.row_per_output == 0 && row >= 0 && row < size;
    const int64_t begin = same ? 0 : std::max<int64_t>(0, ceil_div(-row, per_output));
    const int64_t count = same ? whole.output_count : std::min(whole.output_count, ceil_div(size - row, per_output)) - begin;
    if (count <= 0) continue;
    const int64_t output = whole.output + begin * whole.output_step;
    if (last == i - 1 && found.back().output == output && found.back().output_count == count) {
      ++found.back().kernel_count;
    } else {
      AccessMap part = whole;
      part.kernel += i * whole.kernel_step;
      part.kernel_count = 1;
      part.output = output;
      part.output_count = count;
      part.row = row + begin * whole.row_per_output - window;
      found.push_back(part);
    }
    last = i;
  }
}

// The greatest one, of positive numbers. With std::gcd in its place GCC 12 takes other steps at -O2, unless -fwrapv is given.
int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

// Rows or columns that a product reads beyond its first.
int64_t reach(const vta_gemm_term& term, int axis) { return axis == 1 ? term.taps - 1 : 0; }

}  // namespace

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

int64_t max_rows(const vta_gemm_term& term, int axis, int64_t outputs, int64_t kernel) {
  const int64_t between = (outputs - 1) * term.strides[axis] + (kernel - 1) * term.dilation[axis];
  return between / term.source_dilation[axis] + 1 + reach(term, axis);
}

std::pair<int64_t, int64_t> rows_read(const vta_gemm_term& term, int axis, int64_t output, int64_t outputs, int64_t kernel,
                                      int64_t kernels) {
  const int64_t first = output * term.strides[axis] + kernel * term.dilation[axis] - term.padding[axis];
  const int64_t last = first + (outputs - 1) * term.strides[axis] + (kernels - 1) * term.dilation[axis];
  const int64_t start = ceil_div(first, term.source_dilation[axis]);
  return {start, floor_div(last, term.source_dilation[axis]) - start + 1 + reach(term, axis)};
}

std::vector<AccessMap> access_maps(const vta_gemm_term& term, int axis, int64_t output, int64_t outputs, int64_t kernel,
                                   int64_t kernels, bool skip_padding) {
  const int64_t stride = term.strides[axis], dilation = term.dilation[axis], between = term.source_dilation[axis];
  const int64_t window = rows_read(term, axis, output, outputs, kernel, kernels).first;
  const int64_t kernel_step = between / common_divisor(between, dilation), row_step = dilation * kernel_step / between;
  std::vector<AccessMap> found;
  for (int64_t phase = 0; phase < std::min(kernels, kernel_step); ++phase) {
    const int64_t at = output * stride + (kernel + phase) * dilation - term.padding[axis];
    const int64_t row = ceil_div(at, between), skipped = row * between - at;
    const int64_t count = ceil_div(outputs - skipped, between);
    if (count <= 0) continue;
    AccessMap map = {phase, ceil_div(kernels - phase, kernel_step), kernel_step, skipped, count, between, row, row_step, stride};
    if (skip_padding && reach(term, axis) == 0) {
      add_inside(map, axis == 0 ? term.source.height : term.source.width, window, found);
    } else {
      map.row -= window;
      found.push_back(map);
    }
  }
  return found;
}

}  // namespace vta
