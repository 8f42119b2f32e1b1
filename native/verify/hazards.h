// Hazards between the micro-ops of one instruction, in pipelines that do not forward results.
#pragma once

#include <vector>

#include "verify/report.h"

namespace vta::verify {

struct Uop {
  int64_t dst, src, wgt;
};

// Adds a finding for the first hazard of each kind in a GEMM or ALU instruction over `uops`, all of whose rows lie in
// bounds. A reset reads nothing, so it has none.
void check_hazards(const Instruction& insn, int32_t index, const std::vector<Uop>& uops, const Rules& rules,
                   Report& report);

}  // namespace vta::verify
