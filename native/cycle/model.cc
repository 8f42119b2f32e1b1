#include "cycle/model.h"

#include <string>

#include "isa/engine_error.h"

namespace vta {

namespace {

std::string queues_text(uint8_t pops) {
  std::string text;
  for (int queue = 0; queue < kQueueCount; ++queue) {
    if ((pops >> queue & 1) == 0) continue;
    text += text.empty() ? "" : " and ";
    text += std::string("a ") + queue_name(static_cast<Queue>(queue)) + " token";
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace

void fail_deadlock(const CycleProgram& program, const CycleJob& job, const std::array<size_t, kUnitCount>& accepted,
                   const CycleRecorder& recorder) {
  std::string text = "deadlock: FINISH is not reached";
  for (int unit = 0; unit < kUnitCount; ++unit) {
    const std::vector<uint32_t>& steps = program.of_unit(static_cast<Unit>(unit));
    const size_t next = accepted[static_cast<size_t>(unit)];
    text += std::string("; ") + unit_name(static_cast<Unit>(unit)) + " unit: ";
    if (next == steps.size()) {
      text += "no instruction left";
      continue;
    }
    const uint32_t step = steps[next];
    text += "instruction " + std::to_string(job.first_index + step);
    const bool there = recorder[step].dispatched >= 0;
    text += there ? " waits for " + queues_text(program.steps()[step].pops) : " is held up in the fetch unit by a full queue";
  }
  throw EngineError(text);
}

}  // namespace vta
