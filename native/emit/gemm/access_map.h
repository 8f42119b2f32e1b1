// Which outputs, kernel positions and source rows meet along one axis of a term: those of vta/tile/access_map.py.
#ifndef VTA_EMIT_ACCESS_MAP_H
#define VTA_EMIT_ACCESS_MAP_H

#include <cstdint>
#include <utility>
#include <vector>

#include "vta_stream_gemm.h"

namespace vta {

// For positive divisors.
int64_t floor_div(int64_t a, int64_t b);
int64_t ceil_div(int64_t a, int64_t b);

struct AccessMap {
  int64_t kernel, kernel_count, kernel_step, output, output_count, output_step, row, row_per_kernel, row_per_output;
};

int64_t max_rows(const vta_gemm_term& term, int axis, int64_t outputs, int64_t kernel);

// First row, and how many.
std::pair<int64_t, int64_t> rows_read(const vta_gemm_term& term, int axis, int64_t output, int64_t outputs, int64_t kernel,
                                      int64_t kernels);

std::vector<AccessMap> access_maps(const vta_gemm_term& term, int axis, int64_t output, int64_t outputs, int64_t kernel,
                                   int64_t kernels, bool skip_padding);

}  // namespace vta

#endif
