// Runs one stream for many samples. Built on the rest of the C interface.
#include <cstring>

#include "vta_functional.h"

namespace {

// Of the work between two looks at the budget, beside multiply-accumulates; as the engine charges for an instruction.
constexpr uint64_t kInstructionCost = 1000;

void copy_in(const vta_functional_job& job, const vta_functional_samples& samples) {
  for (uint32_t at = 0; at < samples.input_count; ++at) {
    const vta_functional_values& input = samples.inputs[at];
    std::memcpy(job.dram + input.address, input.values + samples.done * input.bytes, input.bytes);
  }
}

void copy_out(const vta_functional_job& job, const vta_functional_samples& samples) {
  for (uint32_t at = 0; at < samples.output_count; ++at) {
    const vta_functional_values& output = samples.outputs[at];
    std::memcpy(output.values + samples.done * output.bytes, job.dram + output.address, output.bytes);
  }
}

uint64_t cost_of(const vta_functional* engine) {
  vta_functional_counters counters;
  vta_functional_get_counters(engine, -1, &counters);
  const uint64_t instructions = counters.load_instructions + counters.compute_instructions + counters.store_instructions;
  return counters.macs + instructions * kInstructionCost;
}

}  // namespace

int32_t vta_functional_step_samples(vta_functional* engine, const vta_functional_job* job, vta_functional_samples* samples,
                                    uint64_t budget) {
  bool known = false;  // the stream, which is looked through once
  while (samples->done < samples->samples) {
    if (samples->begun == 0) {
      copy_in(*job, *samples);
      if (!known) vta_functional_reset(engine);
      if ((known ? vta_functional_begin_again(engine) : vta_functional_begin(engine, job)) == VTA_FAILED) return VTA_FAILED;
      known = true;
      samples->begun = 1;
    }
    const int32_t status = vta_functional_step(engine, budget);
    if (status != VTA_DONE) return status;
    copy_out(*job, *samples);
    samples->begun = 0;
    ++samples->done;
    const uint64_t cost = cost_of(engine);
    if (cost >= budget) break;
    budget -= cost;
  }
  return samples->done < samples->samples ? VTA_MORE : VTA_DONE;
}
