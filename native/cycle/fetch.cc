#include "cycle/fetch.h"

#include <algorithm>

namespace vta {

void FetchUnit::reset(uint64_t stream_address) {
  const uint64_t bytes = program_.steps().size() * kInstructionBytes;
  address_ = stream_address;
  first_word_ = stream_address >> bus_.log_bytes;
  cursor_.begin(stream_address, bytes, 0, bytes > 0 ? 1 : 0);
  bursts_.clear();
  burst_ = next_ = 0;
  granted_ = free_from_ = 0;
  stalled_ = false;
  sent_ = {};
  request_from_ = 1;
  schedule_request();
}

void FetchUnit::grant(uint64_t cycle, uint64_t start) {
  granted_ += cursor_.beats();
  bursts_.push_back({start, granted_, cursor_.beats()});
  cursor_.advance();
  request_from_ = cycle + 1;
  advance();
}

void FetchUnit::advance() {
  const std::vector<Step>& steps = program_.steps();
  stalled_ = false;
  for (; next_ < steps.size(); ++next_) {
    const uint64_t ready = ready_at();
    if (ready == kNever) break;
    const Unit unit = steps[next_].unit;
    const uint64_t place = place_at(unit);
    stalled_ = place == kNever;
    if (stalled_) break;
    const uint64_t cycle = std::max({free_from_, ready, place});
    recorder_.add(VTA_UNIT_FETCH, VTA_WAIT_MEMORY, next_, free_from_, std::min(cycle, ready));
    recorder_.add(VTA_UNIT_FETCH, VTA_WAIT_TOKEN, next_, std::max(free_from_, ready), cycle);
    recorder_.add(VTA_UNIT_FETCH, VTA_BUSY, next_, cycle, cycle + 1);
    recorder_[next_].dispatched = static_cast<int64_t>(cycle);
    ++sent_[static_cast<size_t>(unit)];
    free_from_ = cycle + 1;
  }
  schedule_request();
}

void FetchUnit::end(uint64_t last) {
  if (next_ == program_.steps().size()) return;
  const uint64_t ready = std::min(ready_at(), last + 1);
  recorder_.add(VTA_UNIT_FETCH, VTA_WAIT_MEMORY, next_, free_from_, ready);
  recorder_.add(VTA_UNIT_FETCH, VTA_WAIT_TOKEN, next_, std::max(free_from_, ready), last + 1);
}

// The first cycle in which all bytes of the next instruction are there.
uint64_t FetchUnit::ready_at() {
  const uint64_t beat = ((address_ + (next_ + 1) * kInstructionBytes - 1) >> bus_.log_bytes) - first_word_ + 1;
  if (beat > granted_) return kNever;
  while (bursts_[burst_].last_beat < beat) ++burst_;
  const Burst& burst = bursts_[burst_];
  return burst.start + (burst.beats - 1 - (burst.last_beat - beat)) * timing_.beat_interval + 1;
}

// The first cycle in which the unit's queue has room for its next instruction.
uint64_t FetchUnit::place_at(Unit unit) const {
  const size_t sent = sent_[static_cast<size_t>(unit)];
  if (sent < timing_.queue_depth) return 0;
  const int64_t accepted = recorder_[program_.of_unit(unit)[sent - timing_.queue_depth]].accepted;
  return accepted < 0 ? kNever : static_cast<uint64_t>(accepted) + 1;
}

// There is room for the next burst once the instruction that holds the end of an earlier beat was dispatched.
void FetchUnit::schedule_request() {
  request_at_ = kNever;
  if (cursor_.done()) return;
  const uint64_t needed = granted_ + cursor_.beats();
  uint64_t room = 0;
  if (needed > timing_.fetch_fifo) {
    const uint64_t beat = needed - timing_.fetch_fifo;
    const uint64_t last_byte = ((first_word_ + beat) << bus_.log_bytes) - 1;
    const size_t instruction = std::min<uint64_t>((last_byte - address_) / kInstructionBytes, program_.steps().size() - 1);
    if (instruction >= next_) return;
    room = static_cast<uint64_t>(recorder_[instruction].dispatched) + 1;
  }
  request_at_ = std::max(request_from_, room);
}

}  // namespace vta
