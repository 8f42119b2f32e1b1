#include "emit/uop_store.h"

#include <algorithm>

#include "emit/emit_error.h"

namespace vta {

namespace {

constexpr int kRowBits = 21;
constexpr int64_t kRowLimit = int64_t{1} << kRowBits;

std::string bytes_of(const Rows* uops, int64_t count) {
  return std::string(reinterpret_cast<const char*>(uops), static_cast<size_t>(count) * sizeof(Rows));
}

}  // namespace

int64_t UopStore::number_of(const Rows* uops, int64_t count) {
  const auto [found, added] = numbers_.try_emplace(bytes_of(uops, count), static_cast<int64_t>(sequences_.size()));
  if (!added) return found->second;
  Sequence sequence{static_cast<int64_t>(uops_.size()), count, {}, -1, -1};
  for (size_t field = 0; field < sequence.range.size(); ++field) {
    const auto less = [field](const Rows& a, const Rows& b) { return a[field] < b[field]; };
    const auto [low, high] = std::minmax_element(uops, uops + count, less);
    sequence.range[field] = {(*low)[field], (*high)[field]};
  }
  uops_.insert(uops_.end(), uops, uops + count);
  sequences_.push_back(sequence);
  return found->second;
}

int64_t UopStore::number_of_single(const Rows& uop) {
  for (int64_t row : uop) {
    if (row < 0 || row >= kRowLimit) return number_of(&uop, 1);
  }
  uint64_t key = 0;
  for (int64_t row : uop) key = key << kRowBits | static_cast<uint64_t>(row);
  const auto [found, added] = singles_.try_emplace(key, -1);
  if (added) found->second = number_of(&uop, 1);
  return found->second;
}

void UopStore::place(int64_t number) {
  Sequence& wanted = sequences_[number];
  if (wanted.count > depth_) {
    throw EmitError("a micro-op sequence of " + std::to_string(wanted.count) + " does not fit the uop buffer of " +
                    std::to_string(depth_));
  }
  if (wanted.dram < 0) {
    wanted.dram = count_;
    in_dram_.push_back(number);
    count_ += wanted.count;
    if (count_ > depth_ && all_together_) throw UopsOverflow();
  }
  if (next_ + wanted.count > depth_) {
    next_ = 0;
    wrapped_ = true;
  }
  evict(next_, next_ + wanted.count);
  on_chip_[next_] = number;
  wanted.begin = next_;
  next_ += wanted.count;
}

void UopStore::evict(int64_t begin, int64_t end) {
  auto first = on_chip_.lower_bound(begin);
  if (first != on_chip_.begin()) {
    const auto before = std::prev(first);
    if (before->first + sequences_[before->second].count > begin) first = before;
  }
  const auto last = on_chip_.lower_bound(end);
  for (auto place = first; place != last; ++place) sequences_[place->second].begin = -1;
  on_chip_.erase(first, last);
}

void UopStore::start_group() {
  for (size_t i = group_first_; i < in_dram_.size(); ++i) {
    sequences_[in_dram_[i]].dram = -1;
    sequences_[in_dram_[i]].begin = -1;
  }
  on_chip_.clear();
  next_ = 0;
  wrapped_ = false;
  group_first_ = in_dram_.size();
  group_dram_ = count_;
}

std::optional<UopStore::Extent> UopStore::finish_group() {
  const int64_t size = count_ - group_dram_;
  if (wrapped_ || size == 0) return std::nullopt;
  const auto [known, added] = groups_.try_emplace(bytes_from(group_first_), group_dram_);
  if (!added) {
    for (size_t i = group_first_; i < in_dram_.size(); ++i) {
      sequences_[in_dram_[i]].dram = -1;
      sequences_[in_dram_[i]].begin = -1;
    }
    on_chip_.clear();
    in_dram_.resize(group_first_);
    count_ = group_dram_;
  }
  return Extent{known->second, size};
}

std::string UopStore::bytes_from(size_t index) const {
  std::string bytes;
  for (; index < in_dram_.size(); ++index) bytes += bytes_of(uops_of(in_dram_[index]), sequences_[in_dram_[index]].count);
  return bytes;
}

}  // namespace vta
