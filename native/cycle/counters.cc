#include "cycle/counters.h"

#include <string>

#include "isa/counters.h"
#include "isa/engine_error.h"

namespace vta {

namespace {

using Counters = vta_functional_counters;

void count_step(const Step& step, const Geometry& geometry, Counters& counters) {
  static constexpr uint64_t Counters::*kPerUnit[] = {&Counters::load_instructions, &Counters::compute_instructions,
                                                     &Counters::store_instructions};
  ++(counters.*kPerUnit[static_cast<int>(step.unit)]);
  if (step.opcode == Opcode::kGemm) {
    (step.resets ? counters.reset_uops : counters.gemm_uops) += step.uops;
    const auto lanes = static_cast<uint64_t>(geometry.lanes()) * static_cast<uint64_t>(geometry.block);
    if (!step.resets) counters.macs += step.uops * lanes;
  } else if (step.opcode == Opcode::kDepthwise) {
    counters.gemm_uops += step.uops;
    counters.macs += step.uops * static_cast<uint64_t>(geometry.lanes() * kDepthwiseTaps);
  } else if (step.opcode == Opcode::kAlu) {
    counters.alu_uops += step.uops;
  } else if (step.rows > 0) {
    const Memory filled = step.memory == Memory::kAcc8 ? Memory::kAcc : step.memory;
    const auto bytes = static_cast<uint64_t>(geometry.elem_bytes(filled));
    counters.*bytes_counter(filled) += uint64_t{step.rows} * step.row_elements * bytes;
  }
}

}  // namespace

std::vector<Counters> count_program(const CycleProgram& program, const vta_cycle_job& job, const Geometry& geometry) {
  std::vector<Counters> counters(size_t{job.operator_count} + 1);
  for (size_t position = 0; position < program.steps().size(); ++position) {
    const Step& step = program.steps()[position];
    count_step(step, geometry, counters.back());
    if (job.operator_index == nullptr) continue;
    const int32_t index = job.operator_index[job.first + position];
    if (index >= static_cast<int64_t>(job.operator_count)) {
      fail(job.first + position, step.unit,
           "operator index " + std::to_string(index) + " is out of range; there are " + std::to_string(job.operator_count) +
               " operators");
    }
    if (index >= 0) count_step(step, geometry, counters[static_cast<size_t>(index)]);
  }
  return counters;
}

}  // namespace vta
