#include "kernels/kernels.h"

#include <stdexcept>
#include <string>

#include "vta_functional.h"

namespace vta {

Kernels select_kernels(const Geometry& geometry, int level) {
  switch (level) {
    case VTA_KERNEL_BEST:
      if (has_avx512()) return avx512_kernels(geometry);
      if (has_avx2()) return avx2_kernels(geometry);
      return portable_kernels(geometry);
    case VTA_KERNEL_PORTABLE:
      return portable_kernels(geometry);
    case VTA_KERNEL_AVX2:
      if (has_avx2()) return avx2_kernels(geometry);
      throw std::invalid_argument("this processor lacks AVX2, which kernel level 2 needs");
    case VTA_KERNEL_AVX512:
      if (has_avx512()) return avx512_kernels(geometry);
      throw std::invalid_argument("this processor lacks AVX-512 VNNI, which kernel level 3 needs");
    default:
      throw std::invalid_argument("kernel level " + std::to_string(level) + " is unknown; allowed: 0 to 3");
  }
}

}  // namespace vta
