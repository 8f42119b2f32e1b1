// An instruction stream while it is being written: instructions, what each reads and writes, and the micro-ops on chip.
#ifndef VTA_EMIT_STREAM_H
#define VTA_EMIT_STREAM_H

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "emit/nest.h"
#include "isa/geometry.h"
#include "vta_emit.h"
#include "vta_plan.h"

namespace vta {

// Fields in the order of vta.isa.INSTRUCTION_DTYPE.
using Instruction = std::array<int64_t, 29>;

enum class Segment : int8_t { kNone, kConstants, kUops, kArena };

// The 16 bytes of an instruction, lowest byte first.
using Packed = std::array<uint64_t, 2>;

// A load as the hardware does it; sizes in elements.
struct Transfer {
  Memory memory;
  int64_t sram;
  Segment segment;
  int64_t dram;
  int64_t x_size;
  int64_t y_size = 1;
  int64_t x_stride = 0;
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};

class EmitStream {
 public:
  explicit EmitStream(const vta_emit_target& target);

  int64_t add_constant(int64_t nbytes, Memory memory);
  void load(const Transfer& transfer);
  void store(int64_t sram, int64_t dram, int64_t x_size, int64_t y_size, int64_t x_stride);
  // Number of a micro-op sequence, the same for equal ones.
  int64_t intern(const Uops& uops);
  void gemm(int64_t sequence, const Dim& outer, const Dim& inner, bool reset);
  void alu(int64_t op, int64_t sequence, const Dim& outer, const Dim& inner, bool use_imm, int64_t imm);

  int64_t size() const { return static_cast<int64_t>(instructions_.size()); }
  bool failed() const { return failed_; }
  // All instructions with tokens and addresses; empty if an access leaves its memory, or a field does not fit its bits.
  std::vector<Packed> finished();
  // How much there is without tokens, when the loads of micro-ops are where they belong; then copies it.
  vta_part_sizes part_sizes();
  void copy_part(const vta_part& part) const;
  bool fits() const { return fits_; }

 private:
  struct Sequence {
    int64_t count;
    std::array<std::array<int64_t, 2>, 3> range;  // smallest and largest row of dst, src, wgt
    int64_t dram;
    int64_t begin;  // in SRAM, -1 if it is not there
  };

  const Sequence& resident(int64_t number);
  void append(const Instruction& instruction, int unit, Segment segment);
  void touch(int64_t space, bool writes, int64_t start, int64_t length, int64_t runs = 1, int64_t stride = 0);
  void touch_arena(bool writes, Memory memory, int64_t dram, int64_t y_size, int64_t x_size, int64_t x_stride);
  void touch_rows(int64_t space, bool writes, const Sequence& sequence, int field, const Dim& outer, const Dim& inner);
  void gather_uop_loads();

  const vta_emit_target& target_;
  Geometry geometry_;
  bool failed_ = false;
  bool fits_ = true;
  std::vector<Packed> instructions_;
  std::vector<int8_t> units_;
  std::vector<Segment> segments_;
  std::vector<Memory> memories_;  // of loads and stores
  std::vector<vta_plan_access> accesses_;
  std::vector<int64_t> access_ends_;
  std::vector<Sequence> sequences_;
  std::unordered_map<std::string, int64_t> numbers_;
  int64_t uop_count_ = 0;
  int64_t uop_next_ = 0;
  int64_t uop_loads_ = 0;
  int64_t constants_bytes_ = 0;
  std::vector<std::array<int64_t, 3>> constants_;  // first byte, bytes, bytes of an element
};

// Bits of the first word at which the four token flags, and the DRAM address of a load or store, begin.
constexpr int kFlagBit = 3, kDramBit = 26;

// Packs an instruction. Returns false if a field does not fit its bits.
bool encode(const Instruction& instruction, const Geometry& geometry, Packed& packed);

}  // namespace vta

#endif
