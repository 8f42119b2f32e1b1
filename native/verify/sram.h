// What a program reads and writes in the SRAMs: who wrote each row last, who read it last, and what is known of it.
#pragma once

#include <vector>

#include "verify/schedule.h"

namespace vta::verify {

// Rows shared between two units: INP and WGT (load writes, compute reads) and OUT (compute writes, store reads).
class SharedRows {
 public:
  SharedRows(Memory memory, int64_t depth, const Schedule& schedule, Report& report)
      : memory_(memory), rows_(depth), schedule_(schedule), report_(report) {}

  // Accesses of one instruction: begin, any number of read or write, end.
  void begin(int32_t instruction);
  void read(int64_t row);
  // `valid` is false where a write leaves contents that implementations disagree on.
  void write(int64_t row, bool valid = true);
  void end();
  int64_t depth() const { return static_cast<int64_t>(rows_.size()); }

 private:
  struct Row {
    int32_t writer = -1;
    int32_t reader = -1;
    bool valid = false;
  };
  struct Tally {
    int64_t first = -1, count = 0, other = -1;
  };
  static void note(Tally& tally, int64_t row, int64_t other);
  void add(Kind kind, const Tally& tally);

  Memory memory_;
  std::vector<Row> rows_;
  const Schedule& schedule_;
  Report& report_;
  int32_t instruction_ = -1;
  Tally race_, unread_;
};

// An accumulator row: only the compute unit touches it. Bounds of its values are known after a reset and after a load
// of constants.
struct AccRow {
  bool written = false;
  bool known = false;
  int32_t low = 0, high = 0;
};

// A micro-op in SRAM.
struct UopRow {
  enum State : uint8_t { kNone, kUnknown, kKnown };
  uint32_t word = 0;
  State state = kNone;
};

}  // namespace vta::verify
