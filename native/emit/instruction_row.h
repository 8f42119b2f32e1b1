// An instruction as it is written, before tokens are placed and addresses resolved.
#ifndef VTA_EMIT_INSTRUCTION_ROW_H
#define VTA_EMIT_INSTRUCTION_ROW_H

#include <array>
#include <cstdint>

#include "isa/geometry.h"
#include "isa/instruction.h"

namespace vta {

enum class Segment : int8_t { kNone, kConstants, kUops, kArena };

constexpr int kTransferFields = 10, kComputeFields = 14;
// Of all fields of vta.isa.INSTRUCTION_DTYPE: the opcode, the token flags, those of transfers, and those of GEMM and ALU.
constexpr int kFlagField = 1, kTransferField = 5, kComputeField = kTransferField + kTransferFields;
constexpr int kAllFields = kComputeField + kComputeFields;

// Positions in `InstructionRow::fields`.
enum { kMemoryType = 0, kSramBase = 1, kDramBase = 2, kYSize = 3, kXSize = 4, kYPad0 = 6, kYPad1, kXPad0, kXPad1 };
enum { kReset = 0, kUopBegin, kUopEnd, kIterOut, kIterIn, kDstOut, kDstIn, kAluOp = 11, kImm = 13 };

struct InstructionRow {
  Opcode opcode;
  Unit unit;
  Segment segment;  // that a transfer reads or writes
  int32_t op;       // that it belongs to, and the tile of that
  int32_t tile;
  int64_t access_end;
  // Of a transfer or of GEMM and ALU, in the order of vta.isa.INSTRUCTION_DTYPE.
  std::array<int64_t, kComputeFields> fields;

  bool transfers() const { return opcode == Opcode::kLoad || opcode == Opcode::kStore; }
  Memory memory() const { return static_cast<Memory>(fields[kMemoryType]); }
  // Writes all fields but the token flags, which become 0.
  void write(int64_t* all) const;
};

// The 16 bytes of an instruction, lowest byte first.
using Packed = std::array<uint64_t, 2>;

// Bit of the first word at which the four token flags begin.
constexpr int kFlagBit = 3;

// Packs an instruction without token flags, the DRAM address of a transfer moved on by `dram`. Returns false if a field does not
// fit its bits.
bool encode(const InstructionRow& row, int64_t dram, const Geometry& geometry, Packed& packed);

}  // namespace vta

#endif
