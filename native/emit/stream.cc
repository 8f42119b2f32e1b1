#include "emit/stream.h"

#include <algorithm>
#include <memory>

#include "vta_cycle.h"

namespace vta {

namespace {

constexpr int64_t kPageBytes = 4096;
enum { kLoad = 0, kStore = 1, kGemm = 2, kFinish = 3, kAlu = 4 };
enum { kInpSpace = 0, kWgtSpace = 1, kOutSpace = 2, kDramSpace = 3 };
enum { kOpcode = 0, kMemoryType = 5, kReset = 15, kUopBegin = 16, kWgtFactorOut = 24, kAluOp = 26 };

int64_t page(int64_t nbytes) { return (nbytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

Instruction loops(int64_t opcode, int64_t begin, int64_t end, const Dim& outer, const Dim& inner) {
  Instruction instruction{};
  instruction[kOpcode] = opcode;
  const int64_t fields[] = {begin,         end,           outer.extent,  inner.extent,
                            outer.step[0], inner.step[0], outer.step[1], inner.step[1]};
  std::copy(std::begin(fields), std::end(fields), instruction.begin() + kUopBegin);
  return instruction;
}

// A loop without its steps, if it turns once and one of them, which then is never taken, reaches its limit.
Dim encodable(const Dim& loop, const Rows& limits) {
  if (loop.extent > 1) return loop;
  for (int k = 0; k < 3; ++k) {
    if (loop.step[k] >= limits[k]) return {loop.extent, {0, 0, 0}};
  }
  return loop;
}

}  // namespace

EmitStream::EmitStream(const vta_emit_target& target) : target_(target), geometry_(target.geometry) {}

int64_t EmitStream::add_constant(int64_t nbytes, Memory memory) {
  const int64_t elem = geometry_.elem_bytes(memory);
  const int64_t index = (constants_bytes_ + elem - 1) / elem;
  constants_bytes_ = index * elem + nbytes;
  constants_.push_back({index * elem, nbytes, elem});
  return index;
}

void EmitStream::load(const Transfer& t) {
  Instruction instruction{};
  const int64_t stride = t.x_stride ? t.x_stride : t.x_size;
  const int64_t fields[] = {static_cast<int64_t>(t.memory), t.sram, t.dram, t.y_size, t.x_size, stride, t.top, t.bottom,
                            t.left, t.right};
  std::copy(std::begin(fields), std::end(fields), instruction.begin() + kMemoryType);
  const bool streamed = t.memory == Memory::kInp || t.memory == Memory::kWgt;
  if (streamed) {
    const int64_t rows = (t.left + t.x_size + t.right) * (t.top + t.y_size + t.bottom);
    touch(t.memory == Memory::kInp ? kInpSpace : kWgtSpace, true, t.sram, rows);
  }
  if (t.segment == Segment::kArena) touch_arena(false, t.memory, t.dram, t.y_size, t.x_size, stride);
  append(instruction, streamed ? VTA_UNIT_LOAD : VTA_UNIT_COMPUTE, t.segment);
}

void EmitStream::store(int64_t sram, int64_t dram, int64_t x_size, int64_t y_size, int64_t x_stride) {
  Instruction instruction{};
  instruction[kOpcode] = kStore;
  const int64_t fields[] = {static_cast<int64_t>(Memory::kOut), sram, dram, y_size, x_size, x_stride};
  std::copy(std::begin(fields), std::end(fields), instruction.begin() + kMemoryType);
  touch(kOutSpace, false, sram, y_size * x_size);
  touch_arena(true, Memory::kOut, dram, y_size, x_size, x_stride);
  append(instruction, VTA_UNIT_STORE, Segment::kArena);
}

int64_t EmitStream::intern(const Uops& uops) {
  const std::string key(reinterpret_cast<const char*>(uops.data()), uops.size() * sizeof(Rows));
  const auto [found, added] = numbers_.emplace(key, static_cast<int64_t>(sequences_.size()));
  if (added) {
    Sequence sequence{static_cast<int64_t>(uops.size()), {}, -1, -1};
    for (int field = 0; field < 3; ++field) {
      const auto less = [&](const Rows& a, const Rows& b) { return a[field] < b[field]; };
      const auto [low, high] = std::minmax_element(uops.begin(), uops.end(), less);
      sequence.range[field] = {(*low)[field], (*high)[field]};
    }
    sequences_.push_back(sequence);
  }
  return found->second;
}

void EmitStream::gemm(int64_t number, const Dim& outer_loop, const Dim& inner_loop, bool reset) {
  const Sequence& sequence = resident(number);
  const Rows limits = {geometry_.depth(Memory::kAcc), geometry_.depth(Memory::kInp), geometry_.depth(Memory::kWgt)};
  const Dim outer = encodable(outer_loop, limits), inner = encodable(inner_loop, limits);
  Instruction instruction = loops(kGemm, sequence.begin, sequence.begin + sequence.count, outer, inner);
  instruction[kReset] = reset;
  instruction[kWgtFactorOut] = outer.step[2];
  instruction[kWgtFactorOut + 1] = inner.step[2];
  touch_rows(kOutSpace, true, sequence, 0, outer, inner);
  if (!reset) {
    touch_rows(kInpSpace, false, sequence, 1, outer, inner);
    touch_rows(kWgtSpace, false, sequence, 2, outer, inner);
  }
  append(instruction, VTA_UNIT_COMPUTE, Segment::kNone);
}

void EmitStream::alu(int64_t op, int64_t number, const Dim& outer_loop, const Dim& inner_loop, bool use_imm, int64_t imm) {
  const Sequence& sequence = resident(number);
  const Rows limits = {geometry_.depth(Memory::kAcc), geometry_.depth(Memory::kAcc), geometry_.depth(Memory::kWgt)};
  const Dim outer = encodable(outer_loop, limits), inner = encodable(inner_loop, limits);
  Instruction instruction = loops(kAlu, sequence.begin, sequence.begin + sequence.count, outer, inner);
  instruction[kAluOp] = op;
  instruction[kAluOp + 1] = use_imm;
  instruction[kAluOp + 2] = use_imm ? imm : 0;
  touch_rows(kOutSpace, true, sequence, 0, outer, inner);
  append(instruction, VTA_UNIT_COMPUTE, Segment::kNone);
}

const EmitStream::Sequence& EmitStream::resident(int64_t number) {
  Sequence& wanted = sequences_[number];
  if (wanted.begin >= 0) return wanted;
  if (wanted.count > target_.uop_depth) {
    failed_ = true;
    wanted.begin = 0;
    return wanted;
  }
  if (wanted.dram < 0) {
    wanted.dram = uop_count_;
    uop_count_ += wanted.count;
  }
  if (uop_next_ + wanted.count > target_.uop_depth) uop_next_ = 0;
  const int64_t begin = uop_next_, end = uop_next_ + wanted.count;
  if (uop_count_ > target_.uop_depth) {
    for (Sequence& other : sequences_) {
      if (other.begin >= 0 && other.begin < end && other.begin + other.count > begin) other.begin = -1;
    }
  }
  wanted.begin = begin;
  uop_next_ = end;
  ++uop_loads_;
  load({Memory::kUop, begin, Segment::kUops, wanted.dram, wanted.count});
  return wanted;
}

void EmitStream::append(const Instruction& instruction, int unit, Segment segment) {
  fits_ &= encode(instruction, geometry_, instructions_.emplace_back());
  memories_.push_back(static_cast<Memory>(instruction[kMemoryType]));
  units_.push_back(static_cast<int8_t>(unit));
  segments_.push_back(segment);
  access_ends_.push_back(static_cast<int64_t>(accesses_.size()));
}

void EmitStream::touch(int64_t space, bool writes, int64_t start, int64_t length, int64_t runs, int64_t stride) {
  accesses_.push_back({space, writes, start, length, runs, stride});
}

void EmitStream::touch_arena(bool writes, Memory memory, int64_t dram, int64_t y_size, int64_t x_size, int64_t x_stride) {
  const int64_t ratio = std::max<int64_t>(1, geometry_.elem_bytes(memory) / geometry_.elem_bytes(Memory::kOut));
  touch(kDramSpace, writes, dram * ratio, x_size * ratio, y_size, x_stride * ratio);
}

// All rows from the first to the last that a compute instruction touches.
void EmitStream::touch_rows(int64_t space, bool writes, const Sequence& sequence, int field, const Dim& outer, const Dim& inner) {
  const auto [first, last] = sequence.range[field];
  const int64_t reach = outer.step[field] * (outer.extent - 1) + inner.step[field] * (inner.extent - 1);
  touch(space, writes, first, last + reach + 1 - first);
}

// Replaces the loads of micro-ops by one at the start, if all fit on chip together.
void EmitStream::gather_uop_loads() {
  if (uop_count_ > target_.uop_depth || uop_loads_ < 1) return;
  size_t kept = 0;
  for (size_t i = 0; i < instructions_.size(); ++i) {
    if (segments_[i] == Segment::kUops) continue;
    instructions_[kept] = instructions_[i];
    units_[kept] = units_[i];
    segments_[kept] = segments_[i];
    memories_[kept] = memories_[i];
    access_ends_[kept] = access_ends_[i];
    ++kept;
  }
  instructions_.resize(kept);
  units_.resize(kept);
  segments_.resize(kept);
  memories_.resize(kept);
  access_ends_.resize(kept);
  Instruction all{};
  const int64_t fields[] = {static_cast<int64_t>(Memory::kUop), 0, 0, 1, uop_count_, uop_count_};
  std::copy(std::begin(fields), std::end(fields), all.begin() + kMemoryType);
  fits_ &= encode(all, geometry_, *instructions_.insert(instructions_.begin(), Packed{}));
  memories_.insert(memories_.begin(), Memory::kUop);
  units_.insert(units_.begin(), VTA_UNIT_COMPUTE);
  segments_.insert(segments_.begin(), Segment::kUops);
  access_ends_.insert(access_ends_.begin(), 0);
}

std::vector<Packed> EmitStream::finished() {
  gather_uop_loads();
  vta_plan_job job{};
  job.units = units_.data();
  job.access_ends = access_ends_.data();
  job.accesses = accesses_.data();
  job.instruction_count = size();
  job.rows[kInpSpace] = geometry_.depth(Memory::kInp);
  job.rows[kWgtSpace] = geometry_.depth(Memory::kWgt);
  job.rows[kOutSpace] = geometry_.depth(Memory::kOut);
  job.rows[kDramSpace] = target_.arena;
  const std::unique_ptr<vta_plan_entry[]> entries(new vta_plan_entry[2 * size() + 2]);
  const int64_t count = vta_plan_tokens(&job, entries.get());
  if (count < 0) return {};
  const int64_t constants_at = page(uop_count_ * geometry_.elem_bytes(Memory::kUop));
  const int64_t arena_at = constants_at + page(constants_bytes_);
  std::vector<Packed> result(count, Packed{0, 0});
  for (int64_t i = 0; i < count; ++i) {
    const vta_plan_entry& entry = entries[i];
    uint64_t& word = result[i][0];
    if (entry.source >= 0) {
      result[i] = instructions_[entry.source];
      const Segment segment = segments_[entry.source];
      if (segment != Segment::kNone) {
        const int64_t start = segment == Segment::kUops ? 0 : segment == Segment::kConstants ? constants_at : arena_at;
        const uint64_t at = (target_.base + start) >> geometry_.log_elem_bytes[static_cast<int>(memories_[entry.source])];
        fits_ &= (word >> kDramBit) + at < uint64_t{1} << 32;
        word += at << kDramBit;
      }
    }
    const int64_t flags[] = {entry.pop_prev, entry.pop_next, entry.push_prev, entry.push_next};
    for (int flag = 0; flag < 4; ++flag) word |= static_cast<uint64_t>(flags[flag] != 0) << (kFlagBit + flag);
  }
  result.back()[0] |= kFinish;
  return fits_ ? result : std::vector<Packed>{};
}

}  // namespace vta
