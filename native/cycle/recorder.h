// Counts what each unit does in each cycle of a run, up to the cycle in which the run ends.
#ifndef VTA_CYCLE_RECORDER_H
#define VTA_CYCLE_RECORDER_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "vta_cycle.h"

namespace vta {

constexpr uint64_t kNever = UINT64_MAX;

class CycleRecorder {
 public:
  // Cycles from `end` on are not counted.
  void reset(size_t steps, bool timeline, uint64_t first_index, uint64_t end) {
    end_ = end;
    horizon_ = 0;
    first_index_ = first_index;
    timeline_ = timeline;
    units_ = {};
    instructions_.assign(steps, {-1, -1, -1, 0, 0, 0});
    intervals_.clear();
    last_interval_.fill(SIZE_MAX);
  }

  // The unit spends cycles [start, end) on an instruction, in one way; nothing if they are none.
  void add(uint32_t unit, uint32_t kind, size_t step, uint64_t start, uint64_t end) {
    if (end <= start) return;
    horizon_ = std::max(horizon_, end);
    end = std::min(end, end_);
    if (end <= start) return;
    units_[unit][kind] += end - start;
    if (unit != VTA_UNIT_FETCH) at(step, kind) += static_cast<int64_t>(end - start);
    if (timeline_) append(unit, kind, step, start, end);
  }

  vta_instruction_cycles& operator[](size_t step) { return instructions_[step]; }
  const vta_instruction_cycles& operator[](size_t step) const { return instructions_[step]; }

  // Marks what happened after cycle `last` as not having happened.
  void forget_after(uint64_t last) {
    const auto limit = static_cast<int64_t>(last);
    for (vta_instruction_cycles& times : instructions_) {
      for (int64_t* cycle : {&times.dispatched, &times.accepted, &times.completed}) *cycle = *cycle > limit ? -1 : *cycle;
    }
  }

  // The first cycle after all that was added, also of what was not counted.
  uint64_t horizon() const { return horizon_; }

  vta_unit_cycles unit(uint32_t unit, uint64_t cycles) const {
    const auto& [busy, token, memory] = units_[unit];
    return {busy, token, memory, cycles - busy - token - memory};
  }

  const std::vector<vta_instruction_cycles>& instructions() const { return instructions_; }
  const std::vector<vta_interval>& intervals() const { return intervals_; }

 private:
  int64_t& at(size_t step, uint32_t kind) {
    vta_instruction_cycles& times = instructions_[step];
    return kind == VTA_BUSY ? times.busy : kind == VTA_WAIT_TOKEN ? times.token : times.memory;
  }

  // Joins it to the unit's last interval where both are one.
  void append(uint32_t unit, uint32_t kind, size_t step, uint64_t start, uint64_t end) {
    const uint64_t index = first_index_ + step;
    size_t& last = last_interval_[unit];
    if (last != SIZE_MAX) {
      vta_interval& before = intervals_[last];
      if (before.end == start && before.kind == kind && before.instruction == index) {
        before.end = end;
        return;
      }
    }
    last = intervals_.size();
    intervals_.push_back({start, end, index, unit, kind});
  }

  uint64_t end_ = kNever;
  uint64_t horizon_ = 0;
  uint64_t first_index_ = 0;
  bool timeline_ = false;
  std::array<std::array<uint64_t, 3>, 4> units_{};  // by unit and kind
  std::vector<vta_instruction_cycles> instructions_;
  std::vector<vta_interval> intervals_;
  std::array<size_t, 4> last_interval_{};
};

}  // namespace vta

#endif
