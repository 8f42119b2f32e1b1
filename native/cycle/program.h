// What the timing of an instruction depends on, decoded once for a whole stream.
#ifndef VTA_CYCLE_PROGRAM_H
#define VTA_CYCLE_PROGRAM_H

#include <array>
#include <cstdint>
#include <vector>

#include "isa/instruction.h"
#include "vta_cycle.h"

namespace vta {

struct Step {
  Unit unit;
  Opcode opcode;
  uint8_t pops;    // bit q: pops a token of queue q
  uint8_t pushes;  // bit q: pushes a token to queue q
  Memory memory;   // of a transfer
  bool resets;     // GEMM
  bool two_operands;  // ALU without an immediate
  uint32_t rows;      // transfer rows; 0 if it moves nothing
  uint32_t row_elements;
  uint64_t address;  // of the first row, in bytes
  uint64_t row_bytes;
  uint64_t stride_bytes;
  uint64_t zeros;      // elements of padding
  uint64_t uops;       // of GEMM and ALU
  uint64_t slots;      // cycles in which they are issued
  uint32_t inner_loops;  // iter_out * iter_in
  uint32_t pad_rows_before;
  bool pads_rows_only;  // no padding beside the rows
};

class CycleProgram {
 public:
  // Throws EngineError if an instruction does not decode or reaches over the end of an SRAM.
  void decode(const vta_cycle_job& job, const Geometry& geometry);

  const std::vector<Step>& steps() const { return steps_; }

  // Whether the program has a FINISH.
  bool finishes() const { return finishes_; }

  // Positions in `steps` of the instructions of one unit, in order.
  const std::vector<uint32_t>& of_unit(Unit unit) const { return units_[static_cast<size_t>(unit)]; }

 private:
  std::vector<Step> steps_;
  bool finishes_ = false;
  std::array<std::vector<uint32_t>, kUnitCount> units_;
};

}  // namespace vta

#endif
