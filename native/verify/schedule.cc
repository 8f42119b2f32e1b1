#include "verify/schedule.h"

#include <algorithm>

namespace vta::verify {

bool pops(const Instruction& insn, Unit unit, int queue) {
  if (kQueueEnds[queue].consumer != unit) return false;
  return kQueueEnds[queue].producer < unit ? insn.pop_prev != 0 : insn.pop_next != 0;
}

bool pushes(const Instruction& insn, Unit unit, int queue) {
  if (kQueueEnds[queue].producer != unit) return false;
  return kQueueEnds[queue].consumer < unit ? insn.push_prev != 0 : insn.push_next != 0;
}

Schedule::Schedule(const vta_verify_program& program, const Rules& rules, Report& report)
    : program_(program), rules_(rules), report_(report) {
  index_units();
  order_.reserve(units_.size());
  bool progress = true;
  while (progress) {
    progress = fetch();
    for (int unit = 0; unit < kUnits; ++unit) progress |= run_unit(unit);
  }
  if (!complete()) {
    report_deadlock();
    return;
  }
  report_leftovers();
  report_unfinished();
}

void Schedule::index_units() {
  const int64_t count = program_.instruction_count;
  units_.resize(count);
  ordinals_.resize(count);
  clocks_.resize(count);
  for (auto& list : pops_before_) list.push_back(0);
  for (int64_t index = 0; index < count; ++index) {
    const Instruction& insn = program_.instructions[index];
    const Unit unit = unit_of(insn);
    units_[index] = static_cast<int8_t>(unit);
    ordinals_[index] = static_cast<int32_t>(lists_[unit].size());
    lists_[unit].push_back(static_cast<int32_t>(index));
    for (int queue = 0; queue < kQueues; ++queue) {
      if (kQueueEnds[queue].consumer != unit) continue;
      pops_before_[queue].push_back(pops_before_[queue].back() + (pops(insn, unit, queue) ? 1 : 0));
    }
  }
}

bool Schedule::ready(int32_t instruction) const {
  const Unit unit = this->unit(instruction);
  for (int queue = 0; queue < kQueues; ++queue) {
    if (!pops(program_.instructions[instruction], unit, queue)) continue;
    const int64_t pushed = program_.tokens_before[queue] + static_cast<int64_t>(pushers_[queue].size());
    if (popped_[queue] >= pushed) return false;
  }
  return true;
}

// Instructions are fetched in stream order, and a full unit queue holds back all that follow.
bool Schedule::fetch() {
  const int64_t start = fetch_next_;
  while (fetch_next_ < program_.instruction_count) {
    const int unit = units_[fetch_next_];
    if (fetched_[unit] - heads_[unit] >= static_cast<size_t>(rules_.fetch_queue_depth)) break;
    ++fetched_[unit];
    ++fetch_next_;
  }
  return fetch_next_ != start;
}

bool Schedule::run_unit(int unit) {
  const size_t start = heads_[unit];
  while (heads_[unit] < fetched_[unit] && ready(lists_[unit][heads_[unit]])) {
    execute(lists_[unit][heads_[unit]]);
    ++heads_[unit];
  }
  return heads_[unit] != start;
}

void Schedule::execute(int32_t instruction) {
  const Instruction& insn = program_.instructions[instruction];
  const Unit unit = this->unit(instruction);
  Clock& clock = now_[unit];
  clock[unit] = ordinals_[instruction];
  for (int queue = 0; queue < kQueues; ++queue) {
    if (!pops(insn, unit, queue)) continue;
    const int64_t token = popped_[queue]++ - program_.tokens_before[queue];
    if (token < 0) continue;
    const int32_t pusher = pushers_[queue][token];
    for (int other = 0; other < kUnits; ++other) clock[other] = std::max(clock[other], clocks_[pusher][other]);
    const int producer = units_[pusher];
    clock[producer] = std::max(clock[producer], ordinals_[pusher] + 1);
  }
  clocks_[instruction] = clock;
  order_.push_back(instruction);
  for (int queue = 0; queue < kQueues; ++queue) {
    if (pushes(insn, unit, queue)) push(instruction, queue);
  }
}

void Schedule::push(int32_t instruction, int queue) {
  pushers_[queue].push_back(instruction);
  // Only the pops of consumer instructions that have surely completed have surely happened.
  const int32_t consumed = clocks_[instruction][kQueueEnds[queue].consumer];
  const int64_t outstanding =
      program_.tokens_before[queue] + static_cast<int64_t>(pushers_[queue].size()) - pops_before_[queue][consumed];
  if (outstanding <= rules_.token_limit || overflowed_[queue]) return;
  overflowed_[queue] = true;
  Finding& finding = report_.add(kTokenOverflow, unit(instruction), instruction);
  finding.queue = queue;
  finding.count = outstanding;
  finding.detail = rules_.token_limit;
}

void Schedule::report_deadlock() {
  for (int unit = 0; unit < kUnits; ++unit) {
    if (heads_[unit] < lists_[unit].size()) report_blocked_head(lists_[unit][heads_[unit]]);
  }
}

void Schedule::report_blocked_head(int32_t instruction) {
  const Unit unit = this->unit(instruction);
  if (heads_[unit] >= fetched_[unit]) {
    // Not even fetched: held back by the unit whose queue is full.
    Finding& finding = report_.add(kDeadlock, unit, instruction);
    finding.other = fetch_next_;
    finding.detail = rules_.fetch_queue_depth;
    return;
  }
  for (int queue = 0; queue < kQueues; ++queue) {
    if (!pops(program_.instructions[instruction], unit, queue)) continue;
    const int64_t token = popped_[queue] - program_.tokens_before[queue];
    if (token < static_cast<int64_t>(pushers_[queue].size())) continue;
    Finding& finding = report_.add(kDeadlock, unit, instruction);
    finding.queue = queue;
    finding.count = popped_[queue] + 1;
    finding.other = pusher_of(queue, token);
  }
}

int64_t Schedule::pusher_of(int queue, int64_t token) const {
  const Unit producer = kQueueEnds[queue].producer;
  for (int32_t instruction : lists_[producer]) {
    if (pushes(program_.instructions[instruction], producer, queue) && token-- == 0) return instruction;
  }
  return -1;
}

void Schedule::report_leftovers() {
  for (int queue = 0; queue < kQueues; ++queue) {
    const int64_t pushed = static_cast<int64_t>(pushers_[queue].size());
    const int64_t left = program_.tokens_before[queue] + pushed - popped_[queue];
    if (left == 0) continue;
    // The first token that stays: all after it stay as well.
    const int64_t index = pushed - left;
    const int64_t pusher = index >= 0 && index < pushed ? pushers_[queue][index] : -1;
    Finding& finding = report_.add(kLeftoverToken, kQueueEnds[queue].producer, pusher);
    finding.queue = queue;
    finding.count = left;
  }
}

// FINISH tells the host that all is done, so every transfer must have completed before it starts. Where the token that
// would tell is left over, that finding says it already.
void Schedule::report_unfinished() {
  if (lists_[kComputeUnit].empty()) return;
  const int32_t last = lists_[kComputeUnit].back();
  if (program_.instructions[last].opcode != kFinish) return;
  for (const int queue : {kFromLoad, kFromStore}) {
    const Unit unit = kQueueEnds[queue].producer;
    const int64_t pushed = static_cast<int64_t>(pushers_[queue].size());
    if (program_.tokens_before[queue] + pushed > popped_[queue]) continue;
    const auto& list = lists_[unit];
    const auto loose = std::find_if(list.begin() + clocks_[last][unit], list.end(),
                                    [&](int32_t index) { return program_.instructions[index].x_size != 0; });
    if (loose == list.end()) continue;
    Finding& finding = report_.add(kUnfinished, unit, *loose);
    finding.other = last;
  }
}

}  // namespace vta::verify
