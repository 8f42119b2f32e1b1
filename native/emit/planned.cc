#include "emit/planned.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace vta {

namespace {

constexpr int64_t kPageBytes = 4096;

int64_t page(int64_t nbytes) { return (nbytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// Where the segments of a stream begin in memory.
class Addresses {
 public:
  Addresses(const Stream& stream, int64_t base) : geometry_(stream.geometry()) {
    const Layout layout(stream);
    starts_ = {0, base + layout.constants_at, base, base + layout.arena_at};
  }

  // Elements from the start of memory to that of the segment that a transfer reads or writes.
  int64_t start_of(const InstructionRow& row) const {
    return starts_[static_cast<size_t>(row.segment)] >> geometry_.log_elem_bytes[static_cast<size_t>(row.memory())];
  }

 private:
  const Geometry& geometry_;
  std::array<int64_t, 4> starts_;  // by Segment
};

std::array<int64_t, 4> flags_of(const vta_plan_entry& entry) {
  return {entry.pop_prev, entry.pop_next, entry.push_prev, entry.push_next};
}

// What only carries tokens is a LOAD of nothing.
constexpr InstructionRow kCarrier = {Opcode::kLoad, Unit::kCompute, Segment::kNone, -1, -1, 0, {}};
constexpr InstructionRow kFinish = {Opcode::kFinish, Unit::kCompute, Segment::kNone, -1, -1, 0, {}};

void put_word(uint64_t word, uint8_t* bytes) {
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(word >> i * 8);
}

}  // namespace

Layout::Layout(const Stream& stream)
    : constants_at(page(stream.uops().count() * stream.geometry().elem_bytes(Memory::kUop))),
      arena_at(constants_at + page(stream.constants_bytes())) {}

int64_t PlannedStream::plan(const Stream& stream, int64_t arena_rows, bool serial) {
  const size_t count = stream.rows().size();
  std::vector<int8_t> units;
  std::vector<int64_t> access_ends;
  units.reserve(count);
  access_ends.reserve(count);
  for (const InstructionRow& row : stream.rows()) {
    units.push_back(static_cast<int8_t>(row.unit));
    access_ends.push_back(row.access_end);
  }
  const Geometry& geometry = stream.geometry();
  vta_plan_job job{};
  job.units = units.data();
  job.access_ends = access_ends.data();
  job.accesses = stream.accesses().data();
  job.instruction_count = static_cast<int64_t>(count);
  const int64_t rows[] = {geometry.depth(Memory::kInp), geometry.depth(Memory::kWgt), geometry.depth(Memory::kOut), arena_rows};
  std::copy(std::begin(rows), std::end(rows), job.rows);
  job.serial = serial;
  entries_.resize(2 * count + 2);
  const int64_t found = vta_plan_tokens(&job, entries_.data());
  entries_.resize(found < 0 ? 0 : static_cast<size_t>(found));
  return found;
}

void PlannedStream::copy(const Stream& stream, int64_t base, int64_t* fields, int64_t* source) const {
  const Addresses addresses(stream, base);
  for (const vta_plan_entry& entry : entries_) {
    const bool last = &entry == &entries_.back();
    const InstructionRow& row = entry.source >= 0 ? stream.rows()[static_cast<size_t>(entry.source)] : last ? kFinish : kCarrier;
    row.write(fields);
    if (row.transfers()) fields[kTransferField + kDramBase] += addresses.start_of(row);
    const auto flags = flags_of(entry);
    std::copy(flags.begin(), flags.end(), fields + kFlagField);
    fields += kAllFields;
    *source++ = entry.source;
  }
}

bool PlannedStream::encode(const Stream& stream, int64_t base, uint8_t* bytes) const {
  const Addresses addresses(stream, base);
  bool fits = true;
  for (const vta_plan_entry& entry : entries_) {
    Packed packed = {0, 0};
    if (entry.source >= 0) {
      const InstructionRow& row = stream.rows()[static_cast<size_t>(entry.source)];
      fits &= vta::encode(row, row.transfers() ? addresses.start_of(row) : 0, stream.geometry(), packed);
    }
    const auto flags = flags_of(entry);
    for (size_t i = 0; i < flags.size(); ++i) packed[0] |= static_cast<uint64_t>(flags[i] != 0) << (kFlagBit + i);
    if (&entry == &entries_.back()) packed[0] |= static_cast<uint64_t>(Opcode::kFinish);
    for (uint64_t word : packed) {
      put_word(word, bytes);
      bytes += sizeof word;
    }
  }
  return fits;
}

}  // namespace vta
