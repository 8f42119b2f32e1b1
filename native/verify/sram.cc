#include "verify/sram.h"

namespace vta::verify {

void SharedRows::begin(int32_t instruction) {
  instruction_ = instruction;
  race_ = unread_ = Tally{};
}

void SharedRows::note(Tally& tally, int64_t row, int64_t other) {
  if (tally.count++ == 0) tally.first = row, tally.other = other;
}

void SharedRows::read(int64_t row) {
  Row& state = rows_[row];
  state.reader = instruction_;
  if (state.writer >= 0 && !schedule_.ordered(state.writer, instruction_)) {
    note(race_, row, state.writer);
  } else if (!state.valid) {
    note(unread_, row, state.writer);
  }
}

void SharedRows::write(int64_t row, bool valid) {
  Row& state = rows_[row];
  if (state.reader >= 0 && !schedule_.ordered(state.reader, instruction_)) note(race_, row, state.reader);
  state.writer = instruction_;
  state.valid = valid;
}

void SharedRows::add(Kind kind, const Tally& tally) {
  if (tally.count == 0) return;
  Finding& finding = report_.add(kind, schedule_.unit(instruction_), instruction_);
  finding.memory = memory_;
  finding.first = tally.first;
  finding.count = tally.count;
  finding.other = tally.other;
}

void SharedRows::end() {
  add(kSramRace, race_);
  add(kUninitializedSram, unread_);
}

}  // namespace vta::verify
