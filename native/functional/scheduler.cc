#include "functional/scheduler.h"

#include <string>

#include "isa/engine_error.h"

namespace vta {

Scheduler::Scheduler(const Stream& stream, const Geometry& geometry, bool random_order, uint64_t seed)
    : stream_(stream), random_order_(random_order), seed_(seed) {
  headers_.reserve(stream.last - stream.first);
  for (uint64_t index = stream.first; index < stream.last; ++index) {
    headers_.push_back(decode_header(read_words(stream.bytes, index)));
    check_header(headers_.back(), index, geometry);
  }
  next_.resize(headers_.size());
  first_.fill(stream.last);
  for (uint64_t index = stream.last; index-- > stream.first;) {
    uint64_t& following = first_[static_cast<size_t>(header_of(index).unit)];
    next_[index - stream.first] = following;
    following = index;
  }
  restart();
}

void Scheduler::restart() {
  random_state_ = seed_;
  heads_ = first_;
}

std::optional<uint64_t> Scheduler::pick(const Tokens& tokens) {
  std::array<uint64_t, kUnitCount> ready;
  uint64_t count = 0;
  for (uint64_t head : heads_) {
    if (head < stream_.last && tokens.ready(header_of(head))) ready[count++] = head;
  }
  if (count == 0) return std::nullopt;
  if (random_order_) return ready[random_below(count)];
  uint64_t first = ready[0];
  for (uint64_t i = 1; i < count; ++i) first = before(ready[i], first) ? ready[i] : first;
  return first;
}

void Scheduler::retire(Unit unit) {
  uint64_t& head = heads_[static_cast<size_t>(unit)];
  head = next_[head - stream_.first];
}

bool Scheduler::finished() const {
  for (uint64_t head : heads_) {
    if (head < stream_.last) return false;
  }
  return true;
}

std::string Scheduler::deadlock_text(const Tokens& tokens) const {
  std::string text = "deadlock: no unit can go on";
  for (int i = 0; i < kUnitCount; ++i) {
    text += std::string("; ") + unit_name(static_cast<Unit>(i)) + " unit: ";
    if (heads_[i] == stream_.last) {
      text += "no instruction left";
      continue;
    }
    const Header& header = header_of(heads_[i]);
    text += "instruction " + std::to_string(heads_[i]) + " waits for " + tokens.waits_for(header);
  }
  return text;
}

bool Scheduler::before(uint64_t one, uint64_t other) const {
  if (stream_.rank == nullptr || stream_.rank[one] == stream_.rank[other]) return one < other;
  return stream_.rank[one] < stream_.rank[other];
}

// splitmix64. The bias of the remainder does not matter for three choices.
uint64_t Scheduler::random_below(uint64_t limit) {
  random_state_ += 0x9E3779B97F4A7C15U;
  uint64_t value = random_state_;
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9U;
  value = (value ^ value >> 27) * 0x94D049BB133111EBU;
  return (value ^ value >> 31) % limit;
}

}  // namespace vta
