// The four queues of dependency tokens between the units.
#ifndef VTA_TOKENS_H
#define VTA_TOKENS_H

#include <array>
#include <cstdint>
#include <string>

#include "isa/instruction.h"

namespace vta {

enum class Queue : uint8_t { kLoadToCompute = 0, kComputeToLoad = 1, kComputeToStore = 2, kStoreToCompute = 3 };
constexpr int kQueueCount = 4;

const char* queue_name(Queue queue);

class Tokens {
 public:
  bool ready(const Header& header) const {
    bool all = true;
    for_each_pop(header, [&](Queue queue) { all = all && has(queue); });
    return all;
  }
  void pop(const Header& header);
  void push(const Header& header);

  // The empty queues that the instruction waits for, as text.
  std::string waits_for(const Header& header) const;

  std::array<uint64_t, kQueueCount> counts{};

 private:
  bool has(Queue queue) const { return counts[static_cast<size_t>(queue)] > 0; }

  // Calls `body` with each queue that the instruction pops.
  template <typename Body>
  static void for_each_pop(const Header& header, const Body& body) {
    const bool compute = header.unit == Unit::kCompute;
    if (header.pop_prev) body(compute ? Queue::kLoadToCompute : Queue::kComputeToStore);
    if (header.pop_next) body(compute ? Queue::kStoreToCompute : Queue::kComputeToLoad);
  }

  template <typename Body>
  static void for_each_push(const Header& header, const Body& body) {
    const bool compute = header.unit == Unit::kCompute;
    if (header.push_prev) body(compute ? Queue::kComputeToLoad : Queue::kStoreToCompute);
    if (header.push_next) body(compute ? Queue::kComputeToStore : Queue::kLoadToCompute);
  }
};

}  // namespace vta

#endif
