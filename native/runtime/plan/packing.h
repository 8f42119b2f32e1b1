// Tensors to and from the packed layout of the device's memory: (N/b, C/c, H, W, b, c), tails zero.
#ifndef VTA_RUNTIME_PACKING_H
#define VTA_RUNTIME_PACKING_H

#include <cstdint>
#include <vector>

#include "vta_common.h"

namespace vta {

// `shape` is (N, C) or (N, C, H, W); an int32 tensor has four planes, one a byte, lowest byte first.
uint64_t packed_bytes(const std::vector<int64_t>& shape, const vta_geometry& geometry, int planes);
void pack(const uint8_t* plain, const std::vector<int64_t>& shape, const vta_geometry& geometry, int planes, uint8_t* packed);
void unpack(const uint8_t* packed, const std::vector<int64_t>& shape, const vta_geometry& geometry, int planes, uint8_t* plain);

}  // namespace vta

#endif
