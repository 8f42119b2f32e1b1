#include "emit/zero_rows.h"

#include <algorithm>

namespace vta {

// Calls `visit` with the dst rows of all micro-ops, or of the last one of each iteration.
template <class Visit>
void ZeroRows::each_row(const InstructionRow& row, bool last_only, Visit visit) const {
  const auto& f = row.fields;
  const int64_t number = uops_.number_at(f[kUopBegin]), count = uops_[number].count;
  const Rows* uops = uops_.uops_of(number);
  for (int64_t outer = 0; outer < f[kIterOut]; ++outer) {
    for (int64_t inner = 0; inner < f[kIterIn]; ++inner) {
      for (int64_t uop = last_only ? count - 1 : 0; uop < count; ++uop) {
        visit(static_cast<size_t>(uops[uop][0] + outer * f[kDstOut] + inner * f[kDstIn]));
      }
    }
  }
}

// All rows from the first to the last that an instruction writes.
void ZeroRows::clear(const InstructionRow& row) {
  const auto& f = row.fields;
  const auto [first, last] = uops_[uops_.number_at(f[kUopBegin])].range[0];
  const int64_t reach = f[kDstOut] * (f[kIterOut] - 1) + f[kDstIn] * (f[kIterIn] - 1);
  std::fill(zero_.begin() + first, zero_.begin() + last + reach + 1, false);
}

std::optional<int64_t> ZeroRows::run(const InstructionRow& row) {
  const auto& f = row.fields;
  switch (row.opcode) {
    case Opcode::kLoad:
      if (row.memory() == Memory::kAcc || row.memory() == Memory::kAcc8) {
        const int64_t rows = (f[kXPad0] + f[kXSize] + f[kXPad1]) * (f[kYPad0] + f[kYSize] + f[kYPad1]);
        std::fill_n(zero_.begin() + f[kSramBase], rows, false);
      }
      return std::nullopt;
    case Opcode::kGemm:
    case Opcode::kDepthwise:
      if (f[kReset]) return reset(row);
      clear(row);
      if (f[kImm]) each_row(row, true, [this](size_t at) { zero_[at] = true; });
      return std::nullopt;
    case Opcode::kAlu: {
      const bool requantizes = static_cast<AluOp>(f[kAluOp]) == AluOp::kRequantize;
      if (requantizes && (f[kImm] & kRequantizeKeep) != 0) return std::nullopt;
      if (requantizes && (f[kImm] & kRequantizeWide) == 0) {
        each_row(row, false, [this](size_t at) { zero_[at] = true; });
      } else {
        clear(row);
      }
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> ZeroRows::reset(const InstructionRow& row) {
  const auto& f = row.fields;
  int64_t place = 0, last = -1;
  each_row(row, false, [&](size_t at) {
    if (!zero_[at]) last = place;
    zero_[at] = true;
    ++place;
  });
  const bool plain = f[kUopEnd] - f[kUopBegin] == 1 && f[kIterOut] == 1;
  if (last >= 0 && (!plain || last + 1 == place)) return std::nullopt;
  return last + 1;
}

}  // namespace vta
