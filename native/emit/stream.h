// An instruction stream while it is being written: instructions, what each reads and writes, and the micro-ops on chip.
#ifndef VTA_EMIT_STREAM_H
#define VTA_EMIT_STREAM_H

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emit/instruction_row.h"
#include "emit/key.h"
#include "emit/nest.h"
#include "emit/uop_store.h"
#include "isa/geometry.h"
#include "vta_plan.h"
#include "vta_stream.h"

namespace vta {

// A load as the hardware does it; sizes in elements, `dram` from the start of the segment.
struct Load {
  Memory memory;
  int64_t sram;
  Segment segment;
  int64_t dram;
  int64_t x_size;
  int64_t y_size = 1;
  int64_t x_stride = 0;  // 0: x_size
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};

// A GEMM or ALU instruction but for its operation: a micro-op sequence by its number, run in two loops.
struct LoopedUops {
  int64_t sequence;
  Dim outer, inner;
};

// kTransfer: a product that only brings a tensor in; kDepthwise: the instruction of this name; kDepthwiseTransfer: both.
enum class GemmKind { kMultiply, kReset, kTransfer, kDepthwise, kDepthwiseTransfer };

class Stream {
 public:
  // Throws std::invalid_argument if the geometry does not encode.
  explicit Stream(const vta_stream_target& target);

  const Geometry& geometry() const { return geometry_; }
  const FoldLimits& gemm_limits() const { return gemm_limits_; }

  void begin_operator(int32_t op, int32_t transfers);
  void end_operator();
  void set_tile(int32_t tile) { tile_ = tile; }

  // Makes room for a constant, aligned for `memory`, and writes where it lies. Returns the index of its first element.
  int64_t add_constant(vta_constant constant, Memory memory);

  // The emitting methods throw EmitError, and UopsOverflow if the target wants all micro-ops together.
  void load(const Load& transfer);
  void store(int64_t sram, int64_t dram, int64_t x_size, int64_t y_size, int64_t x_stride);
  // `finishes`: the row of the last micro-op of each iteration is requantized.
  void gemm(const LoopedUops& what, GemmKind kind = GemmKind::kMultiply, bool finishes = false);
  void alu(AluOp op, const LoopedUops& what, std::optional<int64_t> imm = std::nullopt);
  // `what` moves src by the parameters: from one channel block to the next in the outer loop, from row to row in the inner.
  void requantize(const LoopedUops& what, int64_t flags);
  void gemm_nest(const std::vector<Dim>& dims, const Rows& base, GemmKind kind);
  void alu_nest(AluOp op, const std::vector<Dim>& dims, const Rows& base);

  // Number of a micro-op sequence, the same for equal ones.
  int64_t sequence(const Rows* uops, int64_t count) { return uops_.number_of(uops, count); }
  int64_t single(int64_t dst, int64_t src) { return uops_.number_of_single({dst, src, 0}); }

  // Replaces the loads of micro-ops by one at the start, if all fit on chip together; otherwise returns false.
  bool gather_uop_loads();

  // Keeps the instructions of these numbers, in this order.
  void select(const int64_t* order, int64_t count);
  // Finds resets of accumulator rows that are zero anyway: they are numbered in `needless`, and others shortened. All micro-ops
  // have to be on chip together.
  void trim_resets(std::vector<int64_t>& needless);

  const std::vector<InstructionRow>& rows() const { return rows_; }
  const std::vector<vta_plan_access>& accesses() const { return accesses_; }
  const std::vector<vta_constant>& constants() const { return constants_; }
  int64_t constants_bytes() const { return constants_bytes_; }
  const UopStore& uops() const { return uops_; }

 private:
  const UopStore::Sequence& resident(int64_t number);
  const std::vector<LoopedUops>& folded(const std::vector<Dim>& dims, const Rows& base, bool alu);
  void gather(size_t first, const UopStore::Extent& uops);
  InstructionRow& append(Opcode opcode, Unit unit, Segment segment = Segment::kNone);
  InstructionRow& append_loops(Opcode opcode, const UopStore::Sequence& sequence, const Dim& outer, const Dim& inner);
  void touch_arena(bool writes, Memory memory, int64_t dram, int64_t y_size, int64_t x_size, int64_t x_stride);
  void touch_rows(int64_t space, bool writes, const UopStore::Sequence& sequence, int field, const Dim& outer, const Dim& inner,
                  int64_t further = 0);

  Geometry geometry_;
  FoldLimits gemm_limits_, alu_limits_;
  bool groups_uops_;
  int64_t uop_depth_;
  std::vector<InstructionRow> rows_;
  std::vector<vta_plan_access> accesses_;
  std::vector<vta_constant> constants_;
  int64_t constants_bytes_ = 0;
  UopStore uops_;
  std::unordered_map<Key, std::vector<LoopedUops>, KeyHash> folded_;
  int32_t op_ = -1, transfers_ = -1, tile_ = -1;
  size_t operator_first_ = 0;
};

}  // namespace vta

#endif
