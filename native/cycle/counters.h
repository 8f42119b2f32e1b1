// What the functional engine would count in a program, from its instructions alone.
#ifndef VTA_CYCLE_COUNTERS_H
#define VTA_CYCLE_COUNTERS_H

#include <vector>

#include "cycle/program.h"

namespace vta {

// One entry for each operator, then the total. Throws EngineError if an operator index is out of range.
std::vector<vta_functional_counters> count_program(const CycleProgram& program, const vta_cycle_job& job,
                                                   const Geometry& geometry);

}  // namespace vta

#endif
