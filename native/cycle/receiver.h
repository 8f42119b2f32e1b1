// Takes the data of one load after the other: stage B of the load unit, and the loads of the compute unit.
#ifndef VTA_CYCLE_RECEIVER_H
#define VTA_CYCLE_RECEIVER_H

#include <algorithm>
#include <cstdint>

#include "cycle/bursts.h"
#include "cycle/recorder.h"

namespace vta {

class Receiver {
 public:
  Receiver(CycleRecorder& recorder, uint32_t unit) : recorder_(recorder), unit_(unit) {}

  void reset(uint64_t capacity, uint64_t beat_interval) {
    capacity_ = capacity;
    beat_interval_ = beat_interval;
    granted_ = 0;
    active_ = false;
    consumption_.reset(capacity);
  }

  // Works on a load from cycle `from` on. 1 << log_ratio beats complete an element.
  void begin(size_t step, uint64_t from, int log_ratio, uint64_t zeros) {
    step_ = step;
    busy_from_ = cursor_ = from;
    log_ratio_ = log_ratio;
    zeros_ = zeros;
    taken_ = 0;
    active_ = true;
  }

  // The first cycle in which there is room for a burst.
  uint64_t room_at(uint64_t beats) {
    const uint64_t needed = granted_ + beats;
    return needed <= capacity_ ? 0 : consumption_.at(needed - capacity_) + 1;
  }

  // A burst was granted; its beats come from cycle `start` on.
  void deliver(uint64_t start, uint64_t beats) {
    granted_ += beats;
    if (beat_interval_ == 1) {
      consume(std::max(cursor_, start + 1), beats);
      return;
    }
    for (uint64_t beat = 0; beat < beats; ++beat) consume(std::max(cursor_, start + beat * beat_interval_ + 1), 1);
  }

  // All bursts of the load were granted; returns the cycle in which it completes.
  uint64_t finish() {
    const uint64_t end = taken_ == 0 ? cursor_ + 1 : cursor_ + zeros_;
    recorder_.add(unit_, VTA_BUSY, step_, busy_from_, end);
    active_ = false;
    return end - 1;
  }

  // The run ends before cycle `end`, perhaps within a load.
  void abandon(uint64_t end) {
    if (!active_) return;
    const uint64_t work_end = cursor_ + (end > cursor_ ? std::min(zeros_, end - cursor_) : 0);
    recorder_.add(unit_, VTA_BUSY, step_, busy_from_, work_end);
    recorder_.add(unit_, VTA_WAIT_MEMORY, step_, work_end, end);
  }

 private:
  // Beats are consumed in the cycles from `start` on; zero elements fill the cycles in which the SRAM's port is free.
  void consume(uint64_t start, uint64_t beats) {
    const uint64_t gap = start - cursor_;
    const uint64_t filled = std::min(gap, zeros_);
    zeros_ -= filled;
    if (filled < gap) {
      recorder_.add(unit_, VTA_BUSY, step_, busy_from_, cursor_ + filled);
      recorder_.add(unit_, VTA_WAIT_MEMORY, step_, cursor_ + filled, start);
      busy_from_ = start;
    }
    const uint64_t elements = ((taken_ + beats) >> log_ratio_) - (taken_ >> log_ratio_);
    zeros_ -= std::min(zeros_, beats - elements);
    taken_ += beats;
    cursor_ = start + beats;
    consumption_.add(start, beats);
  }

  CycleRecorder& recorder_;
  const uint32_t unit_;
  uint64_t capacity_ = 0;
  uint64_t beat_interval_ = 1;
  uint64_t granted_ = 0;  // beats over the whole run
  Consumption consumption_;
  bool active_ = false;
  size_t step_ = 0;
  uint64_t busy_from_ = 0;  // since when every cycle was busy
  uint64_t cursor_ = 0;     // the next cycle to account for
  int log_ratio_ = 0;
  uint64_t zeros_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace vta

#endif
