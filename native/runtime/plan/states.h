// What a network keeps from one run to the next.
#ifndef VTA_RUNTIME_STATES_H
#define VTA_RUNTIME_STATES_H

#include <vector>

#include "runtime/file/archive.h"
#include "runtime/plan/plan.h"

namespace vta {

// An input that gets its next value from an output.
struct PlanState {
  size_t input;   // position among the plan's
  size_t output;
  Span initial;   // the value before the first run, of the input's type
};

// The states of the file's graph. Throws FileError naming the place of what is wrong.
std::vector<PlanState> read_states(const Archive& archive, const Plan& plan);

}  // namespace vta

#endif
