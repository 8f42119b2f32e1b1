// Which counter a transfer adds to.
#ifndef VTA_COUNTERS_H
#define VTA_COUNTERS_H

#include "isa/geometry.h"
#include "vta_common.h"

namespace vta {

// Of the bytes that a LOAD fills, or a STORE reads, in a memory.
inline uint64_t vta_functional_counters::*bytes_counter(Memory memory) {
  switch (memory) {
    case Memory::kUop:
      return &vta_functional_counters::uop_bytes;
    case Memory::kWgt:
      return &vta_functional_counters::wgt_bytes;
    case Memory::kInp:
      return &vta_functional_counters::inp_bytes;
    case Memory::kOut:
      return &vta_functional_counters::out_bytes;
    default:  // also of tables
      return &vta_functional_counters::acc_bytes;
  }
}

}  // namespace vta

#endif
