#include "functional/tokens.h"

namespace vta {

const char* queue_name(Queue queue) {
  static constexpr const char* kNames[] = {"load-to-compute", "compute-to-load", "compute-to-store", "store-to-compute"};
  return kNames[static_cast<int>(queue)];
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
