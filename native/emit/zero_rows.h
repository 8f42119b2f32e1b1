// Which accumulator rows are zero at a point of a stream, whose micro-ops are all on chip together.
#ifndef VTA_EMIT_ZERO_ROWS_H
#define VTA_EMIT_ZERO_ROWS_H

#include <cstdint>
#include <optional>
#include <vector>

#include "emit/instruction_row.h"
#include "emit/uop_store.h"

namespace vta {

class ZeroRows {
 public:
  ZeroRows(const UopStore& uops, int64_t depth) : uops_(uops), zero_(static_cast<size_t>(depth), false) {}

  // Follows one instruction. Of a reset whose rows are all zero it returns 0; of one that need not reach as far as it does, how many
  // iterations of its inner loop are enough.
  std::optional<int64_t> run(const InstructionRow& row);

 private:
  template <class Visit>
  void each_row(const InstructionRow& row, bool last_only, Visit visit) const;
  void clear(const InstructionRow& row);
  std::optional<int64_t> reset(const InstructionRow& row);

  const UopStore& uops_;
  std::vector<bool> zero_;  // by row; false: not known to be
};

}  // namespace vta

#endif
