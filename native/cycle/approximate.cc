#include "cycle/approximate.h"

#include <algorithm>

namespace vta {

ApproximateModel::ApproximateModel(const Geometry& geometry, const vta_timing& timing, std::unique_ptr<CostTable> costs,
                                   const CycleProgram& program, CycleRecorder& recorder)
    : geometry_(geometry),
      timing_(timing),
      context_{geometry_, timing_, BusShape(timing)},
      costs_(std::move(costs)),
      fetch_(costs_->fetch(context_)),
      program_(program),
      recorder_(recorder) {}

// Like the contract: what happens after FINISH does not count.
CycleTotals ApproximateModel::run(const CycleJob& job) {
  last_ = kNever;
  simulate(job, kNever);
  if (last_ == kNever) last_ = std::max<uint64_t>(1, *std::max_element(free_from_.begin(), free_from_.end())) - 1;
  if (recorder_.horizon() > last_ + 1) simulate(job, last_ + 1);
  recorder_.forget_after(last_);
  return {last_ + 1, read_beats_, write_beats_, tokens_.left(recorder_.horizon())};
}

void ApproximateModel::simulate(const CycleJob& job, uint64_t end) {
  recorder_.reset(program_.steps().size(), job.timeline, job.first_index, end);
  tokens_.reset(job.tokens, timing_.token_limit);
  dispatched_ = 0;
  dispatch_from_ = read_beats_ = write_beats_ = 0;
  sent_ = accepted_ = {};
  free_from_ = {};
  while (dispatch() | accept(Unit::kLoad) | accept(Unit::kCompute) | accept(Unit::kStore)) {
  }
  // What comes after FINISH need not be reached.
  const bool all = accepted_[0] + accepted_[1] + accepted_[2] == program_.steps().size();
  if (last_ == kNever && !all) fail_deadlock(program_, job, accepted_, recorder_);
}

// Dispatches as many instructions as the queues have room for; returns whether there was one.
bool ApproximateModel::dispatch() {
  const size_t before = dispatched_;
  for (; dispatched_ < program_.steps().size(); ++dispatched_) {
    const auto unit = static_cast<size_t>(program_.steps()[dispatched_].unit);
    uint64_t place = 0;
    if (sent_[unit] >= timing_.queue_depth) {
      const size_t earlier = sent_[unit] - timing_.queue_depth;
      if (earlier >= accepted_[unit]) break;
      place = static_cast<uint64_t>(recorder_[program_.of_unit(static_cast<Unit>(unit))[earlier]].accepted) + 1;
    }
    const uint64_t from = dispatch_from_;
    const uint64_t ready = dispatched_ % fetch_.chunk == 0 ? from + request_chunk() : from;
    const uint64_t cycle = std::max(ready, place);
    recorder_.add(VTA_UNIT_FETCH, VTA_WAIT_MEMORY, dispatched_, from, ready);
    recorder_.add(VTA_UNIT_FETCH, VTA_WAIT_TOKEN, dispatched_, ready, cycle);
    recorder_.add(VTA_UNIT_FETCH, VTA_BUSY, dispatched_, cycle, cycle + 1);
    recorder_[dispatched_].dispatched = static_cast<int64_t>(cycle);
    dispatch_from_ = cycle + fetch_.per_dispatch;
    ++sent_[unit];
  }
  return dispatched_ > before;
}

// Cycles from the request of the chunk that begins with the next instruction to its first dispatch.
uint64_t ApproximateModel::request_chunk() {
  const uint64_t count = std::min<uint64_t>(fetch_.chunk, program_.steps().size() - dispatched_);
  const uint64_t beats = count * fetch_.beats_per_instruction;
  read_beats_ += beats;
  return fetch_.lead + beats;
}

// Accepts as many instructions of a unit as is known; returns whether there was one.
bool ApproximateModel::accept(Unit unit) {
  const auto lane = static_cast<size_t>(unit);
  const std::vector<uint32_t>& steps = program_.of_unit(unit);
  const size_t before = accepted_[lane];
  for (; accepted_[lane] < sent_[lane]; ++accepted_[lane]) {
    const uint32_t index = steps[accepted_[lane]];
    const Step& step = program_.steps()[index];
    const uint64_t tokens = tokens_.ready_at(step.pops);
    if (tokens == kNever) break;
    const uint64_t from = std::max(free_from_[lane], static_cast<uint64_t>(recorder_[index].dispatched) + 1);
    const uint64_t cycle = std::max(from, tokens);
    const Cost cost = costs_->cost(step, context_);
    tokens_.pop(step.pops, cycle);
    account(index, from, cycle, cost);
    free_from_[lane] = cycle + cost.total();
    tokens_.push(step.pushes, free_from_[lane] - 1);
    if (step.opcode == Opcode::kFinish) last_ = std::min(last_, free_from_[lane] - 1);
  }
  return accepted_[lane] > before;
}

void ApproximateModel::account(uint32_t index, uint64_t from, uint64_t cycle, const Cost& cost) {
  const Step& step = program_.steps()[index];
  const auto lane = static_cast<uint32_t>(step.unit);
  recorder_.add(lane, VTA_WAIT_TOKEN, index, from, cycle);
  recorder_.add(lane, VTA_WAIT_MEMORY, index, cycle, cycle + cost.wait);
  recorder_.add(lane, VTA_BUSY, index, cycle + cost.wait, cycle + cost.total());
  recorder_[index].accepted = static_cast<int64_t>(cycle);
  recorder_[index].completed = static_cast<int64_t>(cycle + cost.total()) - 1;
  (step.unit == Unit::kStore ? write_beats_ : read_beats_) += context_.beats(step);
}

}  // namespace vta
