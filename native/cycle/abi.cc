// The C interface of the cycle engine. No exception leaves it.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "cycle/approximate.h"
#include "cycle/contract.h"
#include "cycle/counters.h"

struct vta_cycle {
  const vta::Geometry geometry;
  vta::CycleProgram program;
  vta::CycleRecorder recorder;
  std::unique_ptr<vta::CycleModel> model;
  vta::CycleTotals totals{};
  std::vector<vta_functional_counters> counters = std::vector<vta_functional_counters>(1);
  std::string error;
};

namespace {

std::unique_ptr<vta::CycleModel> make_model(vta_cycle& engine, const vta_timing& timing, int32_t preset) {
  if (preset == VTA_PRESET_RTL) {
    return std::make_unique<vta::ContractModel>(engine.geometry, timing, engine.program, engine.recorder);
  }
  std::unique_ptr<vta::CostTable> costs;
  if (preset == VTA_PRESET_CHISEL) {
    costs = std::make_unique<vta::ChiselCosts>();
  } else {
    costs = std::make_unique<vta::HlsCosts>();
  }
  return std::make_unique<vta::ApproximateModel>(engine.geometry, timing, std::move(costs), engine.program, engine.recorder);
}

}  // namespace

vta_cycle* vta_cycle_create(const vta_geometry* geometry, const vta_timing* timing, int32_t preset, char* error,
                            size_t error_bytes) {
  try {
    auto engine = std::unique_ptr<vta_cycle>(new vta_cycle{vta::Geometry(*geometry)});
    engine->model = make_model(*engine, *timing, preset);
    return engine.release();
  } catch (const std::exception& failure) {
    std::snprintf(error, error_bytes, "%s", failure.what());
    return nullptr;
  }
}

namespace {

void keep_error(vta_cycle* engine, const std::exception& failure) {
  try {
    engine->error = failure.what();
  } catch (const std::exception&) {
    engine->error.clear();
  }
}

}  // namespace

void vta_cycle_destroy(vta_cycle* engine) { delete engine; }

int32_t vta_cycle_run(vta_cycle* engine, const vta_cycle_job* job, const uint64_t tokens[4]) {
  try {
    engine->program.decode(*job, engine->geometry);
    engine->counters = vta::count_program(engine->program, *job, engine->geometry);
    const std::array<uint64_t, vta::kQueueCount> counts = {tokens[0], tokens[1], tokens[2], tokens[3]};
    const vta::CycleJob cycle_job{job->first, job->stream_address, job->timeline != 0, job->limit_seconds, counts};
    engine->totals = engine->model->run(cycle_job);
    return VTA_DONE;
  } catch (const vta::TimeLimitError& failure) {
    keep_error(engine, failure);
    return VTA_TIMED_OUT;
  } catch (const std::exception& failure) {
    keep_error(engine, failure);
    return VTA_FAILED;
  }
}

const char* vta_cycle_error(const vta_cycle* engine) { return engine->error.c_str(); }

void vta_cycle_get_result(const vta_cycle* engine, vta_cycle_result* result) {
  const vta::CycleTotals& totals = engine->totals;
  *result = {totals.cycles, totals.read_beats, totals.write_beats, {}, {}, engine->recorder.intervals().size()};
  for (uint32_t unit = 0; unit < 4; ++unit) result->units[unit] = engine->recorder.unit(unit, totals.cycles);
  std::copy(totals.tokens.begin(), totals.tokens.end(), result->tokens);
}

void vta_cycle_get_counters(const vta_cycle* engine, int32_t operator_index, vta_functional_counters* counters) {
  const bool known = operator_index >= 0 && static_cast<size_t>(operator_index) + 1 < engine->counters.size();
  *counters = known ? engine->counters[static_cast<size_t>(operator_index)] : engine->counters.back();
}

void vta_cycle_get_instructions(const vta_cycle* engine, vta_instruction_cycles* instructions) {
  std::copy(engine->recorder.instructions().begin(), engine->recorder.instructions().end(), instructions);
}

void vta_cycle_get_intervals(const vta_cycle* engine, vta_interval* intervals) {
  std::copy(engine->recorder.intervals().begin(), engine->recorder.intervals().end(), intervals);
}
