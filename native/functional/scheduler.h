// Decides which unit executes its next instruction.
#ifndef VTA_SCHEDULER_H
#define VTA_SCHEDULER_H

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "functional/tokens.h"

namespace vta {

struct Stream {
  const uint8_t* bytes;
  uint64_t first;
  uint64_t last;
  const int64_t* rank;  // per instruction; or null: its index
};

class Scheduler {
 public:
  // Throws EngineError if an instruction has an unknown opcode or a token flag of a unit that does not exist.
  Scheduler(const Stream& stream, const Geometry& geometry, bool random_order, uint64_t seed);

  // From the first instruction on, as after it was made.
  void restart();

  // The instruction to execute next, among those at the head of a unit whose tokens are there; none if no unit can go on.
  std::optional<uint64_t> pick(const Tokens& tokens);

  // The picked instruction is done: its unit goes on to its next one.
  void retire(Unit unit);

  const Header& header_of(uint64_t index) const { return headers_[index - stream_.first]; }
  bool finished() const;
  std::string deadlock_text(const Tokens& tokens) const;

 private:
  bool before(uint64_t one, uint64_t other) const;
  uint64_t random_below(uint64_t limit);

  const Stream stream_;
  const bool random_order_;
  const uint64_t seed_;
  uint64_t random_state_;
  std::vector<Header> headers_;
  std::vector<uint64_t> next_;  // of each instruction: the one after it on its unit, or the end of the stream
  std::array<uint64_t, kUnitCount> first_;
  std::array<uint64_t, kUnitCount> heads_;
};

}  // namespace vta

#endif
