// The processor that this runs on.
#ifndef VTA_RUNTIME_PROCESSOR_H
#define VTA_RUNTIME_PROCESSOR_H

#include "runtime/plan/plan.h"

namespace vta {

// Throws FileError unless this machine runs code for `processor`, saying what it is for and what is here.
void check_processor(const PlanProcessor& processor);

}  // namespace vta

#endif
