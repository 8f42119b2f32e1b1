#include "functional/tokens.h"

namespace vta {

namespace {

// Calls `body` with each queue that the instruction pops.
template <typename Body>
void for_each_pop(const Header& header, const Body& body) {
  const bool compute = header.unit == Unit::kCompute;
  if (header.pop_prev) body(compute ? Queue::kLoadToCompute : Queue::kComputeToStore);
  if (header.pop_next) body(compute ? Queue::kStoreToCompute : Queue::kComputeToLoad);
}

template <typename Body>
void for_each_push(const Header& header, const Body& body) {
  const bool compute = header.unit == Unit::kCompute;
  if (header.push_prev) body(compute ? Queue::kComputeToLoad : Queue::kStoreToCompute);
  if (header.push_next) body(compute ? Queue::kComputeToStore : Queue::kLoadToCompute);
}

}  // namespace

const char* queue_name(Queue queue) {
  static constexpr const char* kNames[] = {"load-to-compute", "compute-to-load", "compute-to-store", "store-to-compute"};
  return kNames[static_cast<int>(queue)];
}

bool Tokens::ready(const Header& header) const {
  bool all = true;
  for_each_pop(header, [&](Queue queue) { all = all && has(queue); });
  return all;
}

void Tokens::pop(const Header& header) {
  for_each_pop(header, [&](Queue queue) { --counts[static_cast<size_t>(queue)]; });
}

void Tokens::push(const Header& header) {
  for_each_push(header, [&](Queue queue) { ++counts[static_cast<size_t>(queue)]; });
}

std::string Tokens::waits_for(const Header& header) const {
  std::string text;
  for_each_pop(header, [&](Queue queue) {
    if (has(queue)) return;
    text += text.empty() ? "a " : " and a ";
    text += std::string(queue_name(queue)) + " token";
  });
  return text;
}

}  // namespace vta
