#include "functional/engine.h"

#include <algorithm>
#include <utility>

#include "isa/engine_error.h"

namespace vta {

namespace {

// What issuing one instruction costs, in multiply-accumulates; bounds the instructions of one step.
constexpr int64_t kInstructionCost = 1000;

void check_operators(const vta_functional_job& job) {
  if (job.operator_index == nullptr) return;
  for (uint64_t index = job.first; index < job.last; ++index) {
    if (job.operator_index[index] >= static_cast<int64_t>(job.operator_count)) {
      throw EngineError("instruction " + std::to_string(index) + ": operator index " + std::to_string(job.operator_index[index]) +
                        " is out of range; there are " + std::to_string(job.operator_count) + " operators");
    }
  }
}

}  // namespace

FunctionalEngine::FunctionalEngine(const Geometry& geometry, const Kernels& kernels)
    : geometry_(geometry), kernels_(kernels), scratchpad_(geometry, kernels), counters_(1) {}

void FunctionalEngine::reset() {
  has_replayed_ = false;
  scratchpad_.reset();
  has_leftovers_ = false;
  kept_.clear();
  tokens_ = Tokens{};
  scheduler_.reset();
  current_.reset();
}

void FunctionalEngine::begin(const vta_functional_job& job) {
  has_replayed_ = false;
  scheduler_.reset();
  current_.reset();
  if (job.first > job.last) throw EngineError("the first instruction of the run lies behind the last");
  check_operators(job);
  if (has_leftovers_) scratchpad_.zero_unwritten();
  has_leftovers_ = false;
  job_ = job;
  records_ = std::exchange(records_next_, false);
  order_.clear();
  counters_.assign(size_t{job.operator_count} + 1, vta_functional_counters{});
  scheduler_.emplace(Stream{job.stream, job.first, job.last, job.rank}, geometry_, job.random_order != 0, job.seed);
}

void FunctionalEngine::begin_again() {
  if (!scheduler_) throw EngineError("no run has begun");
  has_replayed_ = false;
  has_leftovers_ = job_.checks != 0;
  if (has_leftovers_) {
    scratchpad_.forget();
  } else {
    scratchpad_.reset();
  }
  kept_.clear();
  tokens_ = Tokens{};
  current_.reset();
  records_ = std::exchange(records_next_, false);
  order_.clear();
  counters_.assign(counters_.size(), vta_functional_counters{});
  scheduler_->restart();
}

bool FunctionalEngine::step(uint64_t budget) {
  if (!scheduler_) throw EngineError("no run has begun");
  try {
    return go_on(budget);
  } catch (const EngineError&) {
    scheduler_.reset();
    current_.reset();
    throw;
  }
}

bool FunctionalEngine::go_on(uint64_t budget) {
  auto left = static_cast<int64_t>(std::min<uint64_t>(budget, INT64_MAX));
  while (left > 0) {
    if (!current_) {
      if (scheduler_->finished()) return true;
      const std::optional<uint64_t> index = scheduler_->pick(tokens_);
      if (!index) throw EngineError(scheduler_->deadlock_text(tokens_));
      start(*index);
    }
    if (advance(left)) finish();
    left -= kInstructionCost;
  }
  return !current_ && scheduler_->finished();
}

const vta_functional_counters& FunctionalEngine::counters(int32_t operator_index) const {
  const bool known = operator_index >= 0 && static_cast<size_t>(operator_index) + 1 < counters_.size();
  return known ? counters_[static_cast<size_t>(operator_index)] : counters_.back();
}

void FunctionalEngine::start(uint64_t index) {
  if (records_) order_.push_back(index);
  const Words words = read_words(job_.stream, index);
  current_ = Current{index, scheduler_->header_of(index), words, 0};
  tokens_.pop(current_->header);
}

// Executes the current instruction, or the part of it that the budget allows. Returns whether it is complete.
bool FunctionalEngine::advance(int64_t& budget) {
  const Words& words = current_->words;
  switch (static_cast<Opcode>(current_->header.opcode)) {
    case Opcode::kLoad:
      budget -= load(decode_transfer(words));
      return true;
    case Opcode::kStore:
      budget -= store(decode_transfer(words));
      return true;
    case Opcode::kGemm:
      return gemm(decode_gemm(words, geometry_), budget);
    case Opcode::kDepthwise:
      return depthwise(decode_gemm(words, geometry_), budget);
    case Opcode::kAlu:
      return alu(decode_alu(words, geometry_), budget);
    case Opcode::kFinish:
      return true;
  }
  return true;
}

void FunctionalEngine::finish() {
  static constexpr uint64_t vta_functional_counters::*kPerUnit[] = {&vta_functional_counters::load_instructions,
                                                                    &vta_functional_counters::compute_instructions,
                                                                    &vta_functional_counters::store_instructions};
  const Unit unit = current_->header.unit;
  count(kPerUnit[static_cast<int>(unit)], 1);
  tokens_.push(current_->header);
  scheduler_->retire(unit);
  current_.reset();
}

void FunctionalEngine::fail_here(const std::string& what) const { fail(current_->index, current_->header.unit, what); }

void FunctionalEngine::count(uint64_t vta_functional_counters::*counter, int64_t amount) {
  counters_.back().*counter += static_cast<uint64_t>(amount);
  if (job_.operator_index == nullptr) return;
  const int32_t index = job_.operator_index[current_->index];
  if (index >= 0) counters_[static_cast<size_t>(index)].*counter += static_cast<uint64_t>(amount);
}

}  // namespace vta
