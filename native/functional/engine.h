// Executes instruction streams on the on-chip state of one device.
#ifndef VTA_FUNCTIONAL_ENGINE_H
#define VTA_FUNCTIONAL_ENGINE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "functional/recording/recording.h"
#include "functional/scheduler.h"
#include "functional/scratchpad.h"
#include "functional/tokens.h"
#include "kernels/kernels.h"
#include "vta_functional.h"

namespace vta {

class FunctionalEngine {
 public:
  FunctionalEngine(const Geometry& geometry, const Kernels& kernels);

  void reset();
  void begin(const vta_functional_job& job);

  // Begins the run again that has begun last, as after a reset. Its stream must be the same still.
  // Where reads are checked, what is left of the run before is not zeroed but by `begin`: nothing could tell.
  void begin_again();

  // Executes for about `budget` multiply-accumulates of work. Returns whether the run is done. Throws EngineError,
  // which ends the run.
  bool step(uint64_t budget);

  // Has the run that begins next recorded.
  void record_next() { records_next_ = true; }
  // Keeps the recording of the run that is done, if there is one.
  void keep_recording();
  // Whether there is a recording that does what a run of the job from a reset does, where `given` is written to before it.
  bool has_recorded(const vta_functional_job& job, const std::vector<DramRange>& given) const;
  const vta_functional_counters& recorded_counters() const { return recording_->counters; }
  // Does that, after a reset, a run of the same job or another replay.
  void replay(const vta_functional_job& job);

  bool has_replayed() const { return has_replayed_; }

  const char* kernel() const { return kernels_.name; }
  Tokens& tokens() { return tokens_; }
  const Tokens& tokens() const { return tokens_; }

  // Of one operator, or of the whole run for an index outside 0 .. operator_count - 1.
  const vta_functional_counters& counters(int32_t operator_index) const;

 private:
  // The instruction being executed. A large loop nest is executed in parts, from flattened iteration `next` on.
  struct Current {
    uint64_t index;
    Header header;
    Words words;
    int64_t next;
  };

  // The rows that a nest touches lie within.
  struct Extent {
    int64_t low;
    int64_t high;
  };

  bool go_on(uint64_t budget);
  void start(uint64_t index);
  bool advance(int64_t& budget);
  void finish();

  int64_t load(const Transfer& transfer);
  int64_t store(const Transfer& transfer);
  void check_transfer(const Transfer& transfer, Memory memory, int64_t sram_rows) const;
  void check_dram_written(const Transfer& transfer, Memory memory) const;
  void copy_in(const Transfer& transfer, Memory memory);
  void copy_out(const Transfer& transfer);

  bool gemm(const Nest& nest, int64_t& budget);
  bool alu(const Nest& nest, int64_t& budget);
  bool depthwise(const Nest& nest, int64_t& budget);
  bool requantize(const Nest& nest, int64_t& budget);
  void prepare_gemm(const Nest& nest);
  void prepare_depthwise(const Nest& nest);
  void prepare_alu(const Nest& nest);
  void prepare_requantize(const Nest& nest);
  bool looks_up(const Nest& nest) const;
  void keep_parameters(const Nest& nest);
  template <typename Run>
  void run_and_finish(const Nest& nest, const NestPart& part, const Run& run);
  void check_uops(const Nest& nest);
  Extent check_index(const Nest& nest, Memory memory, const char* name, uint16_t Uop::*field, const Factors& factors) const;
  void require_written(const Nest& nest, const Extent& extent, Memory memory, uint16_t Uop::*field, const Factors& factors);
  void mark_written(const Nest& nest, const Extent& dst, Memory memory);
  Extent extent_of(const Nest& nest, uint16_t Uop::*field, const Factors& factors) const;
  RowMask touched(const Nest& nest, Memory memory, uint16_t Uop::*field, const Factors& factors) const;
  template <typename Run>
  bool run_parts(const Nest& nest, int64_t cost, int64_t& budget, const Run& run);
  void zero_rows(const NestPart& part);

  void load_again(const Transfer& transfer);
  NestPart recorded_part(const RecordedNest& nest) const;

  [[noreturn]] void fail_here(const std::string& what) const;

  // Adds to a counter of the run, and of the instruction's operator.
  void count(uint64_t vta_functional_counters::*counter, int64_t amount);

  const Geometry geometry_;
  const Kernels kernels_;
  Scratchpad scratchpad_;
  std::vector<int32_t> kept_;  // the three rows of parameters that were read last
  bool kept_looks_up_ = false;
  Tokens tokens_;
  vta_functional_job job_{};
  std::optional<Scheduler> scheduler_;
  bool has_leftovers_ = false;  // rows that count as zero and are not
  std::optional<Current> current_;
  bool records_next_ = false;
  bool records_ = false;
  std::vector<uint64_t> order_;  // of the run that is recorded: its instructions as they were begun
  std::optional<Recording> recording_;
  bool has_replayed_ = false;  // and nothing else since
  std::vector<vta_functional_counters> counters_;  // one per operator, then the total
};

}  // namespace vta

#endif
