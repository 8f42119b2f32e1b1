// The accelerator's sizes, from the log2 values of the hardware config.
#ifndef VTA_GEOMETRY_H
#define VTA_GEOMETRY_H

#include <array>
#include <cstdint>

#include "vta_common.h"

namespace vta {

enum class Memory : uint8_t { kUop = 0, kWgt = 1, kInp = 2, kAcc = 3, kOut = 4, kAcc8 = 5 };
constexpr int kMemoryCount = 6;

const char* memory_name(Memory memory);

struct Geometry {
  int batch;
  int block;
  int acc_bits;
  std::array<int, kMemoryCount> log_elem_bytes;
  std::array<int, kMemoryCount> log_depth;

  // Throws std::invalid_argument if the values do not encode.
  explicit Geometry(const vta_geometry& config);

  int64_t elem_bytes(Memory memory) const { return int64_t{1} << log_elem_bytes[static_cast<int>(memory)]; }
  int64_t depth(Memory memory) const { return int64_t{1} << log_depth[static_cast<int>(memory)]; }
  int log_rows(Memory memory) const { return log_depth[static_cast<int>(memory)]; }
  int64_t lanes() const { return int64_t{batch} * block; }
  bool narrow_acc() const { return acc_bits == 16; }
};

}  // namespace vta

#endif
