// Runs one stream for many samples: the first as any run, and what that has shown to hold for all of them then is not done again.
#include <cstring>
#include <exception>
#include <vector>

#include "functional/handle.h"
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

uint64_t cost_of(const vta_functional_counters& counters) {
  const uint64_t instructions = counters.load_instructions + counters.compute_instructions + counters.store_instructions;
  return counters.macs + instructions * kInstructionCost;
}

uint64_t cost_of(const vta_functional* engine) {
  vta_functional_counters counters;
  vta_functional_get_counters(engine, -1, &counters);
  return cost_of(counters);
}

std::vector<vta::DramRange> given_by(const vta_functional_samples& samples) {
  std::vector<vta::DramRange> ranges;
  for (uint32_t at = 0; at < samples.input_count; ++at) {
    const vta_functional_values& input = samples.inputs[at];
    ranges.push_back({input.address, input.address + input.bytes});
  }
  return ranges;
}

// Goes on with the samples of one job, until they are done or the budget is.
class SampleRuns {
 public:
  SampleRuns(vta_functional* engine, const vta_functional_job& job, vta_functional_samples& samples, uint64_t budget)
      : engine_(engine), job_(job), samples_(samples), whole_(budget), left_(budget), given_(given_by(samples)) {
    recorded_ = engine->engine.has_recorded(job, given_);
  }

  int32_t go_on() {
    while (samples_.done < samples_.samples) {
      if (samples_.begun == 0) {
        copy_in(job_, samples_);
        if (recorded_ && cost_of(engine_->engine.recorded_counters()) <= whole_) {
          if (!replay()) return VTA_MORE;
          continue;
        }
        if (begin() == VTA_FAILED) return VTA_FAILED;
      }
      const int32_t status = vta_functional_step(engine_, left_);
      if (status != VTA_DONE) return status;
      const uint64_t cost = cost_of(engine_);
      if (!recorded_ && !tried_ && cost <= whole_ && samples_.done + 1 < samples_.samples) record();
      finish();
      if (cost >= left_) break;
      left_ -= cost;
    }
    return samples_.done < samples_.samples ? VTA_MORE : VTA_DONE;
  }

 private:
  // A recorded run is not interrupted: whether there is budget left for it.
  bool replay() {
    const uint64_t cost = cost_of(engine_->engine.recorded_counters());
    if (cost > left_) return false;
    if (!known_ && !engine_->engine.has_replayed()) vta_functional_reset(engine_);
    known_ = true;
    engine_->engine.replay(job_);
    finish();
    left_ -= cost;
    return true;
  }

  int32_t begin() {
    if (!known_) vta_functional_reset(engine_);
    engine_->engine.record_next();
    const int32_t status = known_ ? vta_functional_begin_again(engine_) : vta_functional_begin(engine_, &job_);
    known_ = true;
    samples_.begun = 1;
    return status;
  }

  void record() {
    tried_ = true;
    engine_->engine.keep_recording();
    recorded_ = engine_->engine.has_recorded(job_, given_);
  }

  void finish() {
    copy_out(job_, samples_);
    samples_.begun = 0;
    ++samples_.done;
  }

  vta_functional* engine_;
  const vta_functional_job& job_;
  vta_functional_samples& samples_;
  const uint64_t whole_;
  uint64_t left_;
  const std::vector<vta::DramRange> given_;
  bool known_ = false;  // the stream, which is looked through once
  bool recorded_ = false;
  bool tried_ = false;
};

}  // namespace

int32_t vta_functional_step_samples(vta_functional* engine, const vta_functional_job* job, vta_functional_samples* samples,
                                    uint64_t budget) {
  try {
    return SampleRuns(engine, *job, *samples, budget).go_on();
  } catch (const std::exception& failure) {
    engine->error = failure.what();
    return VTA_FAILED;
  }
}
