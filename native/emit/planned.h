// A complete stream: its instructions with tokens, and with the addresses that they have in the DRAM image.
#ifndef VTA_EMIT_PLANNED_H
#define VTA_EMIT_PLANNED_H

#include <cstdint>
#include <vector>

#include "emit/stream.h"
#include "vta_plan.h"

namespace vta {

// Bytes at which the segments of a stream begin in its image: micro-ops, constants, arena, in this order.
struct Layout {
  explicit Layout(const Stream& stream);

  int64_t constants_at, arena_at;
};

class PlannedStream {
 public:
  // Places tokens. Returns the number of instructions, or -1 - a for an access a that leaves its memory.
  int64_t plan(const Stream& stream, int64_t arena_rows, bool serial);

  // `base`: byte address of the image.
  void copy(const Stream& stream, int64_t base, int64_t* fields, int64_t* source) const;
  // Returns false if a field does not fit its bits.
  bool encode(const Stream& stream, int64_t base, uint8_t* bytes) const;

 private:
  std::vector<vta_plan_entry> entries_;
};

}  // namespace vta

#endif
