// What every model of time offers.
#ifndef VTA_CYCLE_MODEL_H
#define VTA_CYCLE_MODEL_H

#include <array>
#include <cstdint>

#include "cycle/program.h"
#include "cycle/recorder.h"
#include "functional/tokens.h"

namespace vta {

struct CycleJob {
  uint64_t first_index;  // of the program's first step, in its stream
  uint64_t stream_address;
  bool timeline;
  double limit_seconds;  // of wall-clock time; 0: none
  std::array<uint64_t, kQueueCount> tokens;
};

struct CycleTotals {
  uint64_t cycles;
  uint64_t read_beats;
  uint64_t write_beats;
  std::array<uint64_t, kQueueCount> tokens;
};

class CycleModel {
 public:
  virtual ~CycleModel() = default;

  // Runs the program that the model was made for, as far as it is decoded now; leaves the details in its recorder. Throws
  // EngineError if the program deadlocks or a token queue overflows.
  virtual CycleTotals run(const CycleJob& job) = 0;
};

// Says which instruction each unit waits for, given how many instructions of each unit were accepted.
[[noreturn]] void fail_deadlock(const CycleProgram& program, const CycleJob& job, const std::array<size_t, kUnitCount>& accepted,
                                const CycleRecorder& recorder);

}  // namespace vta

#endif
