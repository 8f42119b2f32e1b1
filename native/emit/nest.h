// Folds a loop nest of micro-ops into instructions: two loops in hardware, the rest written out as micro-ops.
#ifndef VTA_EMIT_NEST_H
#define VTA_EMIT_NEST_H

#include <array>
#include <cstdint>
#include <vector>

namespace vta {

// One loop: trip count, and what one iteration adds to the dst, src and wgt rows.
struct Dim {
  int64_t extent;
  std::array<int64_t, 3> step;  // of dst, src and wgt

  bool operator==(const Dim& other) const { return extent == other.extent && step == other.step; }
};

using Rows = std::array<int64_t, 3>;  // of dst, src and wgt
using Uops = std::vector<Rows>;

constexpr Dim kNoLoop = {1, {0, 0, 0}};

struct Folded {
  Uops uops;
  Dim outer;
  Dim inner;
};

struct FoldLimits {
  Rows steps;  // a hardware loop steps by less
  int64_t uop_depth;
  int64_t dst_distance;
};

// Appends the instructions that together visit every point of the nest from the rows `base` on. The two loops kept in hardware
// are those that leave the fewest micro-ops. Throws EmitError if a single micro-op does not fit.
void fold(std::vector<Dim> dims, const Rows& base, const FoldLimits& limits, std::vector<Folded>& result);

// Whether a micro-op sequence repeats no dst sooner than after `distance` micro-ops.
bool spaced(const Uops& uops, int64_t distance);

}  // namespace vta

#endif
