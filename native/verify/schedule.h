// The static order of a program: which instruction completes before which other one starts, however the units run.
#pragma once

#include <array>
#include <vector>

#include "verify/report.h"

namespace vta::verify {

// Queues, in the order of vta_verify_program.tokens_before.
constexpr int kQueues = 4;
struct QueueEnds {
  Unit producer;
  Unit consumer;
};
constexpr std::array<QueueEnds, kQueues> kQueueEnds{{{kLoadUnit, kComputeUnit},
                                                     {kComputeUnit, kLoadUnit},
                                                     {kComputeUnit, kStoreUnit},
                                                     {kStoreUnit, kComputeUnit}}};
constexpr int kToLoad = 1, kFromLoad = 0, kToStore = 2, kFromStore = 3;

bool pops(const Instruction& insn, Unit unit, int queue);
bool pushes(const Instruction& insn, Unit unit, int queue);

// Per unit, how many of its instructions have completed.
using Clock = std::array<int32_t, kUnits>;

class Schedule {
 public:
  Schedule(const vta_verify_program& program, const Rules& rules, Report& report);

  // The instructions that run, in an order that respects every dependency.
  const std::vector<int32_t>& order() const { return order_; }
  bool complete() const { return order_.size() == units_.size(); }
  Unit unit(int64_t instruction) const { return static_cast<Unit>(units_[instruction]); }

  // True if `before` has completed whenever `after` starts.
  bool ordered(int32_t before, int32_t after) const {
    return clocks_[after][units_[before]] > ordinals_[before];
  }

 private:
  void index_units();
  bool ready(int32_t instruction) const;
  bool fetch();
  bool run_unit(int unit);
  void execute(int32_t instruction);
  void push(int32_t instruction, int queue);
  void report_deadlock();
  void report_blocked_head(int32_t instruction);
  void report_leftovers();
  void report_unfinished();
  int64_t pusher_of(int queue, int64_t token) const;

  const vta_verify_program& program_;
  const Rules& rules_;
  Report& report_;
  std::vector<int8_t> units_;
  std::vector<int32_t> ordinals_;
  std::vector<Clock> clocks_;
  std::vector<int32_t> order_;
  std::array<std::vector<int32_t>, kUnits> lists_;
  std::array<size_t, kUnits> heads_{};
  std::array<size_t, kUnits> fetched_{};
  int64_t fetch_next_ = 0;
  std::array<Clock, kUnits> now_{};
  std::array<std::vector<int32_t>, kQueues> pushers_;
  // Per queue: pops by the first n instructions of its consumer.
  std::array<std::vector<int32_t>, kQueues> pops_before_;
  std::array<int64_t, kQueues> popped_{};
  std::array<bool, kQueues> overflowed_{};
};

}  // namespace vta::verify
