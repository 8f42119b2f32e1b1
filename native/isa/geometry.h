// The accelerator's sizes, from the log2 values of the hardware config.
#ifndef VTA_GEOMETRY_H
#define VTA_GEOMETRY_H

#include <array>
#include <cstdint>

#include "vta_common.h"

namespace vta {

enum class Memory : uint8_t { kUop = 0, kWgt = 1, kInp = 2, kAcc = 3, kOut = 4, kAcc8 = 5, kTable = 6 };
constexpr int kMemoryCount = 7;
constexpr int64_t kTableEntries = 256;

const char* memory_name(Memory memory);

struct Geometry {
  int batch;
  int block;
  int acc_bits;
  bool requantizes;  // the option of this name
  bool has_table;
  bool has_depthwise;
  std::array<int, kMemoryCount> log_elem_bytes;
  std::array<int, kMemoryCount> log_depth;

  // Throws std::invalid_argument if the values do not encode.
  explicit Geometry(const vta_geometry& config);

  int64_t elem_bytes(Memory memory) const { return int64_t{1} << log_elem_bytes[static_cast<int>(memory)]; }
  int64_t depth(Memory memory) const { return int64_t{1} << log_depth[static_cast<int>(memory)]; }
  int log_rows(Memory memory) const { return log_depth[static_cast<int>(memory)]; }
  int64_t lanes() const { return int64_t{batch} * block; }
  bool narrow_acc() const { return acc_bits == 16; }

  // Whether LOAD knows the raw memory type `type`.
  bool loads(int type) const;
  // The types that LOAD knows, in words.
  const char* loaded_types() const { return has_table ? "0, 1, 2, 3, 5 and 6" : "0, 1, 2, 3 and 5"; }
  // The last opcode, and the last of the ALU.
  int last_opcode() const { return has_depthwise ? 5 : 4; }
  int last_alu_op() const { return requantizes ? 5 : 4; }
};

}  // namespace vta

#endif
