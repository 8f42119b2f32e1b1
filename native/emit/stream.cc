#include "emit/stream.h"

#include <algorithm>

#include "emit/zero_rows.h"

namespace vta {

namespace {

enum { kInpSpace = 0, kWgtSpace = 1, kOutSpace = 2, kDramSpace = 3 };

// A loop without its steps, if it turns once and one of them, which then is never taken, reaches its limit. A step that is taken
// is smaller than the buffer that it stays in, and so fits its field.
Dim encodable(const Dim& loop, const Rows& limits) {
  if (loop.extent > 1) return loop;
  for (size_t i = 0; i < limits.size(); ++i) {
    if (loop.step[i] >= limits[i]) return {loop.extent, {0, 0, 0}};
  }
  return loop;
}

bool loads_uops(const InstructionRow& row) { return row.segment == Segment::kUops; }

}  // namespace

Stream::Stream(const vta_stream_target& target)
    : geometry_(target.geometry),
      gemm_limits_{{geometry_.depth(Memory::kAcc), geometry_.depth(Memory::kInp), geometry_.depth(Memory::kWgt)},
                   target.uop_depth,
                   target.uop_dst_distance},
      alu_limits_(gemm_limits_),
      groups_uops_(target.groups_uops != 0),
      uop_depth_(target.uop_depth),
      uops_(target.uop_depth, target.gathers_uops != 0) {
  alu_limits_.steps[1] = geometry_.depth(Memory::kAcc);
}

void Stream::begin_operator(int32_t op, int32_t transfers) {
  op_ = op;
  transfers_ = transfers;
  tile_ = -1;
  operator_first_ = rows_.size();
  if (groups_uops_) uops_.start_group();
}

void Stream::end_operator() {
  tile_ = -1;
  if (groups_uops_) {
    if (const auto group = uops_.finish_group()) gather(operator_first_, *group);
  }
  op_ = transfers_ = -1;
}

int64_t Stream::add_constant(vta_constant constant, Memory memory) {
  const int64_t elem = geometry_.elem_bytes(memory);
  const int64_t index = (constants_bytes_ + elem - 1) / elem;
  constant.first = index * elem;
  constant.elem = elem;
  constants_bytes_ = constant.first + constant.nbytes;
  constants_.push_back(constant);
  return index;
}

void Stream::load(const Load& t) {
  const int64_t stride = t.x_stride ? t.x_stride : t.x_size;
  const bool streamed = t.memory == Memory::kInp || t.memory == Memory::kWgt;
  if (streamed) {
    const int64_t rows = (t.left + t.x_size + t.right) * (t.top + t.y_size + t.bottom);
    accesses_.push_back({t.memory == Memory::kInp ? kInpSpace : kWgtSpace, true, t.sram, rows, 1, 0});
  }
  if (t.segment == Segment::kArena) touch_arena(false, t.memory, t.dram, t.y_size, t.x_size, stride);
  append(Opcode::kLoad, streamed ? Unit::kLoad : Unit::kCompute, t.segment).fields = {
      static_cast<int64_t>(t.memory), t.sram, t.dram, t.y_size, t.x_size, stride, t.top, t.bottom, t.left, t.right};
}

void Stream::store(int64_t sram, int64_t dram, int64_t x_size, int64_t y_size, int64_t x_stride) {
  accesses_.push_back({kOutSpace, false, sram, y_size * x_size, 1, 0});
  touch_arena(true, Memory::kOut, dram, y_size, x_size, x_stride);
  append(Opcode::kStore, Unit::kStore, Segment::kArena).fields = {
      static_cast<int64_t>(Memory::kOut), sram, dram, y_size, x_size, x_stride};
}

void Stream::gemm(const LoopedUops& what, GemmKind kind, bool finishes) {
  const UopStore::Sequence& sequence = resident(what.sequence);
  const Dim outer = encodable(what.outer, gemm_limits_.steps), inner = encodable(what.inner, gemm_limits_.steps);
  const bool reset = kind == GemmKind::kReset;
  touch_rows(kOutSpace, true, sequence, 0, outer, inner);
  const bool depthwise = kind == GemmKind::kDepthwise || kind == GemmKind::kDepthwiseTransfer;
  if (!reset) {
    touch_rows(kInpSpace, false, sequence, 1, outer, inner, depthwise ? kDepthwiseTaps - 1 : 0);
    touch_rows(kWgtSpace, false, sequence, 2, outer, inner);
  }
  InstructionRow& row = append_loops(depthwise ? Opcode::kDepthwise : Opcode::kGemm, sequence, outer, inner);
  row.fields[0] = reset;
  row.fields[9] = outer.step[2];
  row.fields[10] = inner.step[2];
  row.fields[13] = finishes;
  if (kind == GemmKind::kTransfer || kind == GemmKind::kDepthwiseTransfer) row.op = transfers_;
}

void Stream::alu(AluOp op, const LoopedUops& what, std::optional<int64_t> imm) {
  const UopStore::Sequence& sequence = resident(what.sequence);
  const Dim outer = encodable(what.outer, alu_limits_.steps), inner = encodable(what.inner, alu_limits_.steps);
  touch_rows(kOutSpace, true, sequence, 0, outer, inner);
  InstructionRow& row = append_loops(Opcode::kAlu, sequence, outer, inner);
  row.fields[11] = static_cast<int64_t>(op);
  row.fields[12] = imm.has_value();
  row.fields[13] = imm.value_or(0);
}

void Stream::requantize(const LoopedUops& what, int64_t flags) {
  alu(AluOp::kRequantize, what);
  rows_.back().fields[13] = flags;
}

void Stream::gemm_nest(const std::vector<Dim>& dims, const Rows& base, GemmKind kind) {
  for (const LoopedUops& part : folded(dims, base, false)) gemm(part, kind);
}

void Stream::alu_nest(AluOp op, const std::vector<Dim>& dims, const Rows& base) {
  for (const LoopedUops& part : folded(dims, base, true)) alu(op, part);
}

const std::vector<LoopedUops>& Stream::folded(const std::vector<Dim>& dims, const Rows& base, bool alu) {
  Key key = {alu};
  key.insert(key.end(), base.begin(), base.end());
  for (const Dim& dim : dims) {
    key.push_back(dim.extent);
    key.insert(key.end(), dim.step.begin(), dim.step.end());
  }
  const auto found = folded_.find(key);
  if (found != folded_.end()) return found->second;
  std::vector<Folded> parts;
  fold(dims, base, alu ? alu_limits_ : gemm_limits_, parts);
  std::vector<LoopedUops> looped;
  for (const Folded& part : parts) {
    looped.push_back({sequence(part.uops.data(), static_cast<int64_t>(part.uops.size())), part.outer, part.inner});
  }
  return folded_.emplace(std::move(key), std::move(looped)).first->second;
}

const UopStore::Sequence& Stream::resident(int64_t number) {
  const UopStore::Sequence& wanted = uops_[number];
  if (wanted.begin < 0) {
    uops_.place(number);
    load({Memory::kUop, wanted.begin, Segment::kUops, wanted.dram, wanted.count});
  }
  return wanted;
}

bool Stream::gather_uop_loads() {
  if (uops_.count() > uop_depth_ || std::none_of(rows_.begin(), rows_.end(), loads_uops)) return false;
  gather(0, {0, uops_.count()});
  return true;
}

// Replaces the loads of sequences from instruction `first` on, of which there is at least one, by one there.
void Stream::gather(size_t first, const UopStore::Extent& uops) {
  const auto begin = rows_.begin() + static_cast<ptrdiff_t>(first);
  const auto load = std::find_if(begin, rows_.end(), loads_uops);
  // The first of them is all the room that is needed.
  std::move_backward(begin, load, load + 1);
  rows_.erase(std::remove_if(load + 1, rows_.end(), loads_uops), rows_.end());
  *begin = {Opcode::kLoad, Unit::kCompute, Segment::kUops, op_, tile_, first == 0 ? 0 : rows_[first - 1].access_end, {}};
  begin->fields = {static_cast<int64_t>(Memory::kUop), 0, uops.dram, 1, uops.count, uops.count};
}

void Stream::select(const int64_t* order, int64_t count) {
  std::vector<InstructionRow> rows;
  std::vector<vta_plan_access> accesses;
  rows.reserve(static_cast<size_t>(count));
  accesses.reserve(accesses_.size());
  for (const int64_t* i = order; i != order + count; ++i) {
    const InstructionRow& row = rows_[static_cast<size_t>(*i)];
    const int64_t begin = *i ? rows_[static_cast<size_t>(*i) - 1].access_end : 0;
    accesses.insert(accesses.end(), accesses_.begin() + begin, accesses_.begin() + row.access_end);
    rows.push_back(row);
    rows.back().access_end = static_cast<int64_t>(accesses.size());
  }
  rows_.swap(rows);
  accesses_.swap(accesses);
}

void Stream::trim_resets(std::vector<int64_t>& needless) {
  ZeroRows zeros(uops_, geometry_.depth(Memory::kAcc));
  for (size_t i = 0; i < rows_.size(); ++i) {
    InstructionRow& row = rows_[i];
    const auto kept = zeros.run(row);
    if (!kept) continue;
    if (*kept == 0) {
      needless.push_back(static_cast<int64_t>(i));
    } else {
      row.fields[kIterIn] = *kept;
      accesses_[static_cast<size_t>(row.access_end) - 1].length = *kept;
    }
  }
}

InstructionRow& Stream::append(Opcode opcode, Unit unit, Segment segment) {
  rows_.push_back({opcode, unit, segment, op_, tile_, static_cast<int64_t>(accesses_.size()), {}});
  return rows_.back();
}

InstructionRow& Stream::append_loops(Opcode opcode, const UopStore::Sequence& sequence, const Dim& outer, const Dim& inner) {
  InstructionRow& row = append(opcode, Unit::kCompute);
  row.fields = {0,
                sequence.begin,
                sequence.begin + sequence.count,
                outer.extent,
                inner.extent,
                outer.step[0],
                inner.step[0],
                outer.step[1],
                inner.step[1]};
  return row;
}

void Stream::touch_arena(bool writes, Memory memory, int64_t dram, int64_t y_size, int64_t x_size, int64_t x_stride) {
  const int64_t ratio = std::max<int64_t>(1, geometry_.elem_bytes(memory) / geometry_.elem_bytes(Memory::kOut));
  accesses_.push_back({kDramSpace, writes, dram * ratio, x_size * ratio, y_size, x_stride * ratio});
}

// All rows from the first to the last that a compute instruction touches, and those `further` on.
void Stream::touch_rows(int64_t space, bool writes, const UopStore::Sequence& sequence, int field, const Dim& outer,
                        const Dim& inner, int64_t further) {
  const auto [first, last] = sequence.range[static_cast<size_t>(field)];
  const int64_t reach = outer.step[field] * (outer.extent - 1) + inner.step[field] * (inner.extent - 1);
  accesses_.push_back({space, writes, first, last + reach + further + 1 - first, 1, 0});
}

}  // namespace vta
