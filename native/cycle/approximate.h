// The published designs, approximately: every instruction has a cost, and starts when its unit, the fetch unit and its tokens
// allow it.
#ifndef VTA_CYCLE_APPROXIMATE_H
#define VTA_CYCLE_APPROXIMATE_H

#include <array>
#include <cstdint>
#include <memory>

#include "cycle/costs.h"
#include "cycle/model.h"
#include "cycle/tokens.h"

namespace vta {

// Left out: units that compete for the memory. Each has it for itself.
class ApproximateModel : public CycleModel {
 public:
  ApproximateModel(const Geometry& geometry, const vta_timing& timing, std::unique_ptr<CostTable> costs,
                   const CycleProgram& program, CycleRecorder& recorder);

  CycleTotals run(const CycleJob& job) override;

 private:
  void simulate(const CycleJob& job, uint64_t end);
  bool dispatch();
  uint64_t request_chunk();
  bool accept(Unit unit);
  void account(uint32_t step, uint64_t from, uint64_t cycle, const Cost& cost);

  const Geometry geometry_;
  const vta_timing timing_;
  const CostContext context_;
  const std::unique_ptr<CostTable> costs_;
  const FetchCost fetch_;
  const CycleProgram& program_;
  CycleRecorder& recorder_;
  TimedTokens tokens_;
  size_t dispatched_ = 0;
  uint64_t dispatch_from_ = 0;  // first cycle in which the fetch unit can dispatch
  std::array<size_t, kUnitCount> sent_{};
  std::array<size_t, kUnitCount> accepted_{};
  std::array<uint64_t, kUnitCount> free_from_{};
  uint64_t last_ = kNever;
  uint64_t read_beats_ = 0;
  uint64_t write_beats_ = 0;
};

}  // namespace vta

#endif
