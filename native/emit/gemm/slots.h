// What lies in the slots of an on-chip buffer, so that nothing is loaded twice while it is still there.
#ifndef VTA_EMIT_SLOTS_H
#define VTA_EMIT_SLOTS_H

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emit/key.h"

namespace vta {

// A buffer region cut into equal slots, filled in turn; the oldest content makes room.
class Slots {
 public:
  Slots(int64_t base, int64_t size, int64_t count) : base_(base), size_(size), keys_(static_cast<size_t>(count)) {}

  // First row of the slot that holds `key`.
  std::optional<int64_t> find(const Key& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? std::nullopt : std::optional<int64_t>(found->second);
  }

  // Gives the next slot to `key`; returns its first row.
  int64_t take(const Key& key) {
    const size_t slot = next_;
    next_ = (next_ + 1) % keys_.size();
    rows_.erase(keys_[slot]);
    keys_[slot] = key;
    return rows_[key] = base_ + static_cast<int64_t>(slot) * size_;
  }

 private:
  int64_t base_, size_;
  std::vector<Key> keys_;
  std::unordered_map<Key, int64_t, KeyHash> rows_;
  size_t next_ = 0;
};

}  // namespace vta

#endif
