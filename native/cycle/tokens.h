// Dependency tokens with the cycles in which they come and go.
#ifndef VTA_CYCLE_TOKENS_H
#define VTA_CYCLE_TOKENS_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "cycle/recorder.h"
#include "isa/engine_error.h"
#include "functional/tokens.h"

namespace vta {

class TimedTokens {
 public:
  void reset(const std::array<uint64_t, kQueueCount>& initial, uint64_t limit) {
    limit_ = limit;
    popped_ = {};
    for (size_t queue = 0; queue < kQueueCount; ++queue) {
      if (initial[queue] > limit) overflow(queue);
      visible_[queue].assign(initial[queue], 0);
    }
  }

  // The first cycle in which all queues of `pops` (bit q: queue q) have a token; kNever if that is not known yet.
  uint64_t ready_at(uint8_t pops) const {
    uint64_t cycle = 0;
    for (size_t queue = 0; pops != 0; ++queue, pops >>= 1) {
      if ((pops & 1) == 0) continue;
      if (popped_[queue] == visible_[queue].size()) return kNever;
      cycle = std::max(cycle, visible_[queue][popped_[queue]]);
    }
    return cycle;
  }

  // Throws EngineError if a queue held more than the limit before this cycle.
  void pop(uint8_t pops, uint64_t cycle) {
    for (size_t queue = 0; pops != 0; ++queue, pops >>= 1) {
      if ((pops & 1) != 0) check(queue, popped_[queue]++, cycle);
    }
  }

  void push(uint8_t pushes, uint64_t cycle) {
    for (size_t queue = 0; pushes != 0; ++queue, pushes >>= 1) {
      if ((pushes & 1) != 0) visible_[queue].push_back(cycle + 1);
    }
  }

  // The counts after the last cycle of the run.
  std::array<uint64_t, kQueueCount> left(uint64_t last_cycle) const {
    std::array<uint64_t, kQueueCount> counts{};
    for (size_t queue = 0; queue < kQueueCount; ++queue) {
      check(queue, popped_[queue], last_cycle + 1);
      const auto& times = visible_[queue];
      const auto pushed = std::upper_bound(times.begin(), times.end(), last_cycle + 1) - times.begin();
      counts[queue] = static_cast<uint64_t>(pushed) - popped_[queue];
    }
    return counts;
  }

 private:
  // Whether the queue overflowed while `popped` tokens had left it, before `cycle`.
  void check(size_t queue, uint64_t popped, uint64_t cycle) const {
    const auto& times = visible_[queue];
    if (times.size() > popped + limit_ && times[popped + limit_] <= cycle) overflow(queue);
  }

  [[noreturn]] void overflow(size_t queue) const {
    const std::string name = queue_name(static_cast<Queue>(queue));
    throw EngineError("more than " + std::to_string(limit_) + " tokens in the " + name + " queue");
  }

  uint64_t limit_ = 0;
  std::array<std::vector<uint64_t>, kQueueCount> visible_;  // per token: the first cycle in which it can be popped
  std::array<uint64_t, kQueueCount> popped_{};
};

}  // namespace vta

#endif
