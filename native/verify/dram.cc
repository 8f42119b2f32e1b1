#include "verify/dram.h"

#include <algorithm>
#include <cstring>

namespace vta::verify {
namespace {

constexpr int kLogPage = 12;

uint64_t page_end(uint64_t address) { return ((address >> kLogPage) + 1) << kLogPage; }

}  // namespace

void Intervals::merge() {
  std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  size_t kept = 0;
  for (const Span& span : spans_) {
    if (span.start >= span.end) continue;
    if (kept > 0 && span.start <= spans_[kept - 1].end) {
      spans_[kept - 1].end = std::max(spans_[kept - 1].end, span.end);
    } else {
      spans_[kept++] = span;
    }
  }
  spans_.resize(kept);
}

bool Intervals::covers(uint64_t start, uint64_t end) const {
  auto after = std::upper_bound(spans_.begin(), spans_.end(), start,
                                [](uint64_t address, const Span& span) { return address < span.start; });
  return after != spans_.begin() && std::prev(after)->end >= end;
}

bool Intervals::intersects(uint64_t start, uint64_t end) const {
  auto after = std::lower_bound(spans_.begin(), spans_.end(), end,
                                [](const Span& span, uint64_t address) { return span.start < address; });
  return after != spans_.begin() && std::prev(after)->end > start;
}

Dram::Dram(const vta_verify_program& program, int log_cell, const Schedule& schedule, Report& report)
    : program_(program), schedule_(schedule), report_(report), log_cell_(log_cell) {
  for (int64_t index = 0; index < program.range_count; ++index) {
    const vta_verify_range& range = program.ranges[index];
    const uint64_t end = range.start + range.nbytes;
    covered_.add(range.start, end);
    if (range.initialized) initialized_.add(range.start, end);
    if (!range.writable) read_only_.add(range.start, end);
    if (range.constant) constant_.add(range.start, end);
  }
  for (Intervals* set : {&covered_, &initialized_, &read_only_, &constant_}) set->merge();
  contents_.assign(program.contents, program.contents + program.contents_count);
  std::sort(contents_.begin(), contents_.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
}

void Dram::plan_store(const Transfer& transfer) {
  for (int64_t row = 0; row < transfer.rows; ++row) {
    const uint64_t start = transfer.start + row * transfer.pitch;
    for (uint64_t page = start >> kLogPage; page <= (start + transfer.run - 1) >> kLogPage; ++page) {
      auto& cells = pages_[page];
      if (cells.empty()) cells.resize(size_t{1} << (kLogPage - log_cell_));
    }
  }
}

std::vector<Dram::Cell>* Dram::page_of(uint64_t address) {
  const uint64_t number = address >> kLogPage;
  if (number != cached_number_) {
    const auto found = pages_.find(number);
    cached_number_ = number;
    cached_page_ = found == pages_.end() ? nullptr : &found->second;
  }
  return cached_page_;
}

void Dram::add(Kind kind, int32_t instruction, const Tally& tally) {
  if (tally.count == 0) return;
  Finding& finding = report_.add(kind, schedule_.unit(instruction), instruction);
  finding.first = tally.first;
  finding.count = tally.count;
  finding.other = tally.other;
}

bool Dram::in_bounds(int32_t instruction, const Transfer& transfer) {
  for (int64_t row = 0; row < transfer.rows; ++row) {
    const uint64_t start = transfer.start + row * transfer.pitch;
    if (covered_.covers(start, start + transfer.run)) continue;
    Tally tally;
    tally.note(start, transfer.run);
    add(kDramBounds, instruction, tally);
    return false;
  }
  return true;
}

Source Dram::read(int32_t instruction, int memory, const Transfer& transfer) {
  if (!in_bounds(instruction, transfer)) return Source::kOutside;
  ReadState state{instruction, schedule_.unit(instruction), false, {}, {}};
  for (int64_t row = 0; row < transfer.rows; ++row) {
    const uint64_t start = transfer.start + row * transfer.pitch;
    read_run(state, start, start + transfer.run);
  }
  add(kDramRace, instruction, state.race);
  // Unknown micro-ops are a finding of their own.
  if (memory != kUop) add(kUninitializedDram, instruction, state.unread);
  return state.stored ? Source::kStored : Source::kInitial;
}

void Dram::read_run(ReadState& state, uint64_t start, uint64_t end) {
  const bool initialized = initialized_.covers(start, end);
  while (start < end) {
    const uint64_t stop = std::min(end, page_end(start));
    if (std::vector<Cell>* cells = page_of(start)) {
      read_cells(state, *cells, start, stop, initialized);
    } else if (!initialized && !initialized_.covers(start, stop)) {
      state.unread.note(start, stop - start);
    }
    start = stop;
  }
}

void Dram::read_cells(ReadState& state, std::vector<Cell>& cells, uint64_t start, uint64_t end, bool initialized) {
  const uint64_t mask = (uint64_t{1} << kLogPage) - 1;
  while (start < end) {
    const uint64_t stop = std::min(end, ((start >> log_cell_) + 1) << log_cell_);
    Cell& cell = cells[(start & mask) >> log_cell_];
    cell.readers[state.unit] = state.instruction;
    if (cell.store >= 0) {
      state.stored = true;
      if (!schedule_.ordered(cell.store, state.instruction)) state.race.note(start, stop - start, cell.store);
    } else if (!initialized && !initialized_.covers(start, stop)) {
      state.unread.note(start, stop - start);
    }
    start = stop;
  }
}

void Dram::write(int32_t instruction, const Transfer& transfer) {
  if (!in_bounds(instruction, transfer)) return;
  Tally read_only, race;
  const uint64_t mask = (uint64_t{1} << kLogPage) - 1;
  for (int64_t row = 0; row < transfer.rows; ++row) {
    const uint64_t first = transfer.start + row * transfer.pitch, end = first + transfer.run;
    if (read_only_.intersects(first, end)) {
      read_only.note(first, transfer.run);
      continue;
    }
    for (uint64_t address = first; address < end; address += uint64_t{1} << log_cell_) {
      Cell& cell = (*page_of(address))[(address & mask) >> log_cell_];
      for (int32_t reader : cell.readers) {
        if (reader >= 0 && !schedule_.ordered(reader, instruction)) race.note(address, uint64_t{1} << log_cell_, reader);
      }
      cell.store = instruction;
    }
  }
  add(kReadOnlyStore, instruction, read_only);
  add(kDramRace, instruction, race);
}

bool Dram::constant(const Transfer& transfer) const {
  for (int64_t row = 0; row < transfer.rows; ++row) {
    const uint64_t start = transfer.start + row * transfer.pitch;
    if (!constant_.covers(start, start + transfer.run)) return false;
  }
  return true;
}

bool Dram::initial(uint64_t address, void* bytes, int count) {
  const auto holds = [&](size_t index) {
    return index < contents_.size() && contents_[index].start <= address &&
           address + count <= contents_[index].start + contents_[index].nbytes;
  };
  if (!holds(last_contents_)) {
    const auto after = std::upper_bound(contents_.begin(), contents_.end(), address,
                                        [](uint64_t value, const auto& piece) { return value < piece.start; });
    if (after == contents_.begin()) return false;
    last_contents_ = static_cast<size_t>(after - contents_.begin()) - 1;
    if (!holds(last_contents_)) return false;
  }
  const vta_verify_contents& piece = contents_[last_contents_];
  std::memcpy(bytes, piece.data + (address - piece.start), count);
  return true;
}

void Dram::check_outputs() {
  const uint64_t mask = (uint64_t{1} << kLogPage) - 1;
  for (int64_t index = 0; index < program_.range_count; ++index) {
    const vta_verify_range& range = program_.ranges[index];
    if (!range.output) continue;
    Tally missing;
    const uint64_t end = range.start + range.nbytes;
    for (uint64_t address = range.start; address < end; address = ((address >> log_cell_) + 1) << log_cell_) {
      const std::vector<Cell>* cells = page_of(address);
      const bool stored = cells != nullptr && (*cells)[(address & mask) >> log_cell_].store >= 0;
      if (!stored) missing.note(address, std::min(end - address, uint64_t{1} << log_cell_));
    }
    if (missing.count == 0) continue;
    Finding& finding = report_.add(kUnwrittenOutput, kStoreUnit, -1);
    finding.first = missing.first;
    finding.count = missing.count;
  }
}

}  // namespace vta::verify
