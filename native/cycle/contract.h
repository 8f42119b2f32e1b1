// The timing contract (TIMING.md) as a simulation of few events: bursts granted and instructions accepted.
#ifndef VTA_CYCLE_CONTRACT_H
#define VTA_CYCLE_CONTRACT_H

#include <array>
#include <cstdint>
#include <vector>

#include "cycle/bursts.h"
#include "cycle/deadline.h"
#include "cycle/fetch.h"
#include "cycle/model.h"
#include "cycle/receiver.h"
#include "cycle/tokens.h"

namespace vta {

// A time is worked out as soon as it is determined, often long before its cycle: all that follows from a burst, when it is
// granted. Only grants and acceptances have to be taken in the order of time.
class ContractModel : public CycleModel {
 public:
  ContractModel(const Geometry& geometry, const vta_timing& timing, const CycleProgram& program, CycleRecorder& recorder);

  CycleTotals run(const CycleJob& job) override;

 private:
  // The part of a unit that accepts instructions.
  struct Front {
    uint64_t open_from = 0;  // first cycle in which it can accept, kNever if not known; tokens and the like apart
    uint64_t wait_from = 0;  // first cycle in which the wait of the head counts as such
    uint64_t accept_at = kNever;
    uint64_t done = 0;  // the cycle after the last completion
    size_t next = 0;    // how many instructions were accepted
  };

  // A load whose bursts are being requested.
  struct Loader {
    Receiver receiver;
    BurstCursor cursor;
    uint32_t step = 0;
    uint64_t request_at = kNever;
  };

  void simulate(const CycleJob& job, uint64_t last);
  void start(const CycleJob& job);
  void handle_events(const Deadline& deadline);
  uint64_t next_accept() const;
  void accept_at(uint64_t cycle);
  void accept(Unit unit);
  void accept_load(uint32_t step, uint64_t cycle);
  void accept_compute(uint32_t step, uint64_t cycle);
  void accept_store(uint32_t step, uint64_t cycle);
  void begin_load(Loader& loader, uint32_t step, uint64_t request_from, uint64_t data_from);
  void grant_fetch(uint64_t cycle);
  void grant(Loader& loader, Unit unit, uint64_t cycle);
  uint64_t reserve_memory(uint64_t cycle, uint64_t beats);
  void complete(Unit unit, uint32_t step, uint64_t cycle);
  void account_wait(Unit unit, uint64_t until);
  void refresh();
  uint64_t ahead_at(Unit unit) const;
  void end(const CycleJob& job);
  uint64_t last_completion() const;

  Front& front(Unit unit) { return fronts_[static_cast<size_t>(unit)]; }
  const Front& front(Unit unit) const { return fronts_[static_cast<size_t>(unit)]; }

  const Geometry geometry_;
  const uint64_t pipeline_;  // cycles from the issue of a micro-op to its result; a load's data goes the same way behind it
  const vta_timing timing_;
  const BusShape bus_;
  const CycleProgram& program_;
  CycleRecorder& recorder_;
  TimedTokens tokens_;
  FetchUnit fetch_;
  Loader load_;
  Loader acc_;
  std::array<Front, kUnitCount> fronts_{};
  uint64_t port_free_ = 0;    // first cycle in which the read port can grant
  uint64_t memory_free_ = 0;  // first cycle in which the memory can deliver
  uint64_t last_ = kNever;    // the cycle in which FINISH completes
  uint64_t known_last_ = kNever;  // the same, from a run before
  uint64_t read_beats_ = 0;
  uint64_t write_beats_ = 0;
};

}  // namespace vta

#endif
