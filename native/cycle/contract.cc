#include "cycle/contract.h"

#include <algorithm>

#include "isa/engine_error.h"

namespace vta {

namespace {

constexpr uint64_t kPipeline = 6, kPipelineThatRequantizes = 12;

// How many of `count` events, `interval` cycles apart from cycle `start` on, happen up to cycle `last`.
uint64_t count_until(uint64_t last, uint64_t start, uint64_t count, uint64_t interval) {
  return start > last ? 0 : std::min(count, (last - start) / interval + 1);
}

}  // namespace

ContractModel::ContractModel(const Geometry& geometry, const vta_timing& timing, const CycleProgram& program,
                             CycleRecorder& recorder)
    : geometry_(geometry),
      pipeline_(geometry.requantizes ? kPipelineThatRequantizes : kPipeline),
      timing_(timing),
      bus_(timing),
      program_(program),
      recorder_(recorder),
      fetch_(program_, timing_, bus_, recorder_),
      load_{Receiver(recorder_, VTA_UNIT_LOAD), BurstCursor(bus_)},
      acc_{Receiver(recorder_, VTA_UNIT_COMPUTE), BurstCursor(bus_)} {}

// What happens after FINISH does not count, but it is only known then that it is after FINISH: if anything was, run again.
CycleTotals ContractModel::run(const CycleJob& job) {
  simulate(job, kNever);
  if (recorder_.horizon() > last_ + 1 || memory_free_ > last_ + timing_.beat_interval) simulate(job, last_);
  recorder_.forget_after(last_);
  return {last_ + 1, read_beats_, write_beats_, tokens_.left(last_)};
}

void ContractModel::simulate(const CycleJob& job, uint64_t last) {
  known_last_ = last;
  start(job);
  handle_events(Deadline(job.limit_seconds));
  end(job);
}

void ContractModel::start(const CycleJob& job) {
  recorder_.reset(program_.steps().size(), job.timeline, job.first_index, known_last_ == kNever ? kNever : known_last_ + 1);
  tokens_.reset(job.tokens, timing_.token_limit);
  load_.receiver.reset(timing_.load_fifo, timing_.beat_interval);
  acc_.receiver.reset(timing_.acc_fifo, timing_.beat_interval);
  load_.request_at = acc_.request_at = kNever;
  fronts_ = {};
  port_free_ = memory_free_ = read_beats_ = write_beats_ = 0;
  last_ = kNever;
  fetch_.reset(job.stream_address);
}

void ContractModel::handle_events(const Deadline& deadline) {
  uint64_t accept_cycle = next_accept();
  for (uint64_t event = 1;; ++event) {
    deadline.check(event);
    const uint64_t requested = std::min({fetch_.request_at(), acc_.request_at, load_.request_at});
    const uint64_t cycle = std::max(requested, port_free_);
    if (std::min(accept_cycle, cycle) > last_ || (accept_cycle == kNever && cycle == kNever)) return;
    if (accept_cycle <= cycle) {
      accept_at(accept_cycle);
    } else if (fetch_.request_at() <= cycle) {
      grant_fetch(cycle);
    } else if (acc_.request_at <= cycle) {
      grant(acc_, Unit::kCompute, cycle);
    } else {
      grant(load_, Unit::kLoad, cycle);
    }
    accept_cycle = next_accept();
  }
}

uint64_t ContractModel::next_accept() const {
  return std::min({fronts_[0].accept_at, fronts_[1].accept_at, fronts_[2].accept_at});
}

void ContractModel::accept_at(uint64_t cycle) {
  for (const Unit unit : {Unit::kLoad, Unit::kCompute, Unit::kStore}) {
    if (front(unit).accept_at == cycle) accept(unit);
  }
  if (fetch_.stalled()) fetch_.advance();
  refresh();
}

void ContractModel::accept(Unit unit) {
  Front& head = front(unit);
  const uint64_t cycle = head.accept_at;
  const uint32_t step = program_.of_unit(unit)[head.next];
  account_wait(unit, cycle);
  tokens_.pop(program_.steps()[step].pops, cycle);
  recorder_[step].accepted = static_cast<int64_t>(cycle);
  ++head.next;
  if (unit == Unit::kLoad) {
    accept_load(step, cycle);
  } else if (unit == Unit::kCompute) {
    accept_compute(step, cycle);
  } else {
    accept_store(step, cycle);
  }
}

void ContractModel::accept_load(uint32_t step, uint64_t cycle) {
  Front& unit = front(Unit::kLoad);
  begin_load(load_, step, cycle + 1, std::max(cycle + 1, unit.done));
  if (program_.steps()[step].rows > 0) {
    unit.open_from = unit.wait_from = kNever;
    return;
  }
  complete(Unit::kLoad, step, load_.receiver.finish());
  unit.open_from = cycle + 1;
  unit.wait_from = unit.done;
}

void ContractModel::accept_compute(uint32_t index, uint64_t cycle) {
  Front& unit = front(Unit::kCompute);
  const Step& step = program_.steps()[index];
  if (step.rows > 0) {
    const uint64_t data_from = cycle + 1 + pipeline_;
    recorder_.add(VTA_UNIT_COMPUTE, VTA_WAIT_MEMORY, index, cycle + 1, data_from);
    begin_load(acc_, index, cycle + 1, data_from);
    unit.open_from = unit.wait_from = kNever;
    return;
  }
  const uint64_t issued = cycle + std::max<uint64_t>(1, step.slots);
  recorder_.add(VTA_UNIT_COMPUTE, VTA_BUSY, index, cycle + 1, issued + 1);
  unit.open_from = issued;
  unit.wait_from = issued + 1;
  complete(Unit::kCompute, index, issued + pipeline_);
  if (step.opcode == Opcode::kFinish && last_ == kNever) last_ = issued + pipeline_;
}

void ContractModel::accept_store(uint32_t index, uint64_t cycle) {
  Front& unit = front(Unit::kStore);
  const Step& step = program_.steps()[index];
  const uint64_t beats = count_beats(bus_, step.address, step.row_bytes, step.stride_bytes, step.rows);
  unit.open_from = cycle + 1 + beats;
  unit.wait_from = unit.open_from + 1;
  recorder_.add(VTA_UNIT_STORE, VTA_BUSY, index, cycle + 1, unit.wait_from);
  write_beats_ += count_until(known_last_, cycle + 2, beats, 1);
  complete(Unit::kStore, index, std::max(unit.open_from + (beats > 0 ? timing_.write_latency : 0), unit.done));
}

void ContractModel::begin_load(Loader& loader, uint32_t index, uint64_t request_from, uint64_t data_from) {
  const Step& step = program_.steps()[index];
  const int log_ratio = std::max(0, geometry_.log_elem_bytes[static_cast<size_t>(step.memory)] - bus_.log_bytes);
  loader.step = index;
  loader.receiver.begin(index, data_from, log_ratio, step.zeros);
  if (step.rows == 0) return;
  loader.cursor.begin(step.address, step.row_bytes, step.stride_bytes, step.rows);
  loader.request_at = std::max(request_from, loader.receiver.room_at(loader.cursor.beats()));
}

void ContractModel::grant_fetch(uint64_t cycle) {
  fetch_.grant(cycle, reserve_memory(cycle, fetch_.beats()));
  refresh();
}

void ContractModel::grant(Loader& loader, Unit unit, uint64_t cycle) {
  const uint64_t beats = loader.cursor.beats();
  loader.receiver.deliver(reserve_memory(cycle, beats), beats);
  loader.cursor.advance();
  if (!loader.cursor.done()) {
    loader.request_at = std::max(cycle + 1, loader.receiver.room_at(loader.cursor.beats()));
    return;
  }
  loader.request_at = kNever;
  complete(unit, loader.step, loader.receiver.finish());
  Front& owner = front(unit);
  owner.open_from = unit == Unit::kLoad ? cycle + 1 : owner.done - 1;
  owner.wait_from = owner.done;
  refresh();
}

// Grants a burst at `cycle`; returns the cycle of its first beat.
uint64_t ContractModel::reserve_memory(uint64_t cycle, uint64_t beats) {
  const uint64_t start = std::max(cycle + timing_.read_latency, memory_free_);
  read_beats_ += count_until(known_last_, start, beats, timing_.beat_interval);
  memory_free_ = start + beats * timing_.beat_interval;
  port_free_ = cycle + 1;
  return start;
}

void ContractModel::complete(Unit unit, uint32_t step, uint64_t cycle) {
  recorder_[step].completed = static_cast<int64_t>(cycle);
  tokens_.push(program_.steps()[step].pushes, cycle);
  front(unit).done = cycle + 1;
}

// The head of the unit's queue waited until before cycle `until`: for tokens, then for instructions ahead of it to complete.
void ContractModel::account_wait(Unit unit, uint64_t until) {
  const Front& head = front(unit);
  const std::vector<uint32_t>& steps = program_.of_unit(unit);
  if (head.next == steps.size() || recorder_[steps[head.next]].dispatched < 0) return;
  const uint32_t step = steps[head.next];
  const uint64_t from = std::max(head.wait_from, static_cast<uint64_t>(recorder_[step].dispatched) + 1);
  const uint64_t tokens = tokens_.ready_at(program_.steps()[step].pops);
  const auto lane = static_cast<uint32_t>(unit);
  recorder_.add(lane, VTA_WAIT_TOKEN, step, from, std::min(until, tokens));
  recorder_.add(lane, VTA_WAIT_MEMORY, step, std::max(from, tokens), until);
}

// Works out again when each unit accepts its next instruction.
void ContractModel::refresh() {
  for (const Unit unit : {Unit::kLoad, Unit::kCompute, Unit::kStore}) {
    Front& head = front(unit);
    const std::vector<uint32_t>& steps = program_.of_unit(unit);
    head.accept_at = kNever;
    if (head.open_from == kNever || head.next == steps.size()) continue;
    const uint32_t step = steps[head.next];
    const int64_t dispatched = recorder_[step].dispatched;
    if (dispatched < 0) continue;
    const uint64_t tokens = tokens_.ready_at(program_.steps()[step].pops);
    head.accept_at = std::max({head.open_from, static_cast<uint64_t>(dispatched) + 1, ahead_at(unit), tokens});
  }
}

// The first cycle in which few enough accepted instructions are incomplete.
uint64_t ContractModel::ahead_at(Unit unit) const {
  const size_t limit = unit == Unit::kLoad ? timing_.load_ahead : timing_.store_ahead;
  const size_t next = front(unit).next;
  if (unit == Unit::kCompute || next < limit) return 0;
  return static_cast<uint64_t>(recorder_[program_.of_unit(unit)[next - limit]].completed) + 1;
}

void ContractModel::end(const CycleJob& job) {
  if (last_ == kNever) {
    const std::array<size_t, kUnitCount> accepted = {fronts_[0].next, fronts_[1].next, fronts_[2].next};
    const size_t total = accepted[0] + accepted[1] + accepted[2];
    if (total < program_.steps().size() || program_.finishes()) fail_deadlock(program_, job, accepted, recorder_);
    last_ = last_completion();
  }
  for (const Unit unit : {Unit::kLoad, Unit::kCompute, Unit::kStore}) account_wait(unit, last_ + 1);
  fetch_.end(last_);
  load_.receiver.abandon(last_ + 1);
  acc_.receiver.abandon(last_ + 1);
}

uint64_t ContractModel::last_completion() const {
  const uint64_t done = std::max({fronts_[0].done, fronts_[1].done, fronts_[2].done});
  return done == 0 ? 0 : done - 1;
}

}  // namespace vta
