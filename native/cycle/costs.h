// What one instruction costs on the two published designs: approximations, from descriptions of them.
#ifndef VTA_CYCLE_COSTS_H
#define VTA_CYCLE_COSTS_H

#include <cstdint>

#include "cycle/bursts.h"
#include "cycle/program.h"

namespace vta {

// The unit takes its next instruction after `wait` cycles, in which it waits for memory, and `work` cycles.
struct Cost {
  uint64_t wait;
  uint64_t work;

  uint64_t total() const { return wait + work; }
};

struct CostContext {
  const Geometry& geometry;
  const vta_timing& timing;
  BusShape bus;

  // Bus words of one element, at least 1.
  uint64_t beats_per_element(Memory memory) const;
  uint64_t beats(const Step& step) const;
};

// How the instructions arrive: chunks are read as a whole, and then dispatched one by one.
struct FetchCost {
  uint64_t chunk;          // instructions
  uint64_t lead;           // cycles from the request of a chunk to the first dispatch, without the data
  uint64_t beats_per_instruction;
  uint64_t per_dispatch;   // cycles
};

class CostTable {
 public:
  virtual ~CostTable() = default;
  virtual Cost cost(const Step& step, const CostContext& context) const = 0;
  virtual FetchCost fetch(const CostContext& context) const = 0;
};

// The Chisel design, as tsim runs it. Evidence: its state machines, traced by hand.
class ChiselCosts : public CostTable {
 public:
  Cost cost(const Step& step, const CostContext& context) const override;
  FetchCost fetch(const CostContext& context) const override;
};

// The HLS design on a Zynq board. Known are the initiation intervals and what is not overlapped; latencies are assumed.
class HlsCosts : public CostTable {
 public:
  Cost cost(const Step& step, const CostContext& context) const override;
  FetchCost fetch(const CostContext& context) const override;
};

}  // namespace vta

#endif
