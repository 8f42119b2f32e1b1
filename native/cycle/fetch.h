// The fetch unit of the timing contract: reads the stream, and dispatches instructions to the units' queues.
#ifndef VTA_CYCLE_FETCH_H
#define VTA_CYCLE_FETCH_H

#include <array>
#include <cstdint>
#include <vector>

#include "cycle/bursts.h"
#include "cycle/program.h"
#include "cycle/recorder.h"

namespace vta {

class FetchUnit {
 public:
  FetchUnit(const CycleProgram& program, const vta_timing& timing, const BusShape& bus, CycleRecorder& recorder)
      : program_(program), timing_(timing), bus_(bus), recorder_(recorder), cursor_(bus) {}

  void reset(uint64_t stream_address);

  // The cycle from which on the next burst is presented; kNever if that is not known yet or none is left.
  uint64_t request_at() const { return request_at_; }
  uint64_t beats() const { return cursor_.beats(); }

  // The burst was granted at `cycle`; its beats come from cycle `start` on.
  void grant(uint64_t cycle, uint64_t start);

  // Dispatches as far as is known: to be called when a place in a queue gets free.
  void advance();

  // The run ends after cycle `last`: accounts for the wait of the instruction that is still to be dispatched.
  void end(uint64_t last);

  size_t dispatched() const { return next_; }
  bool stalled() const { return stalled_; }

 private:
  struct Burst {
    uint64_t start;
    uint64_t last_beat;  // of the run, counted from 1
    uint64_t beats;
  };

  uint64_t ready_at();
  uint64_t place_at(Unit unit) const;
  void schedule_request();

  const CycleProgram& program_;
  const vta_timing& timing_;
  const BusShape bus_;
  CycleRecorder& recorder_;
  uint64_t address_ = 0;
  uint64_t first_word_ = 0;
  BurstCursor cursor_;
  std::vector<Burst> bursts_;
  size_t burst_ = 0;  // that has the last beat of the instruction to dispatch
  uint64_t granted_ = 0;
  uint64_t request_from_ = 0;
  uint64_t request_at_ = kNever;
  size_t next_ = 0;
  uint64_t free_from_ = 0;  // the cycle after the last dispatch
  bool stalled_ = false;    // on a full queue
  std::array<size_t, kUnitCount> sent_{};
};

}  // namespace vta

#endif
