// Rows of integers as keys of hash tables.
#ifndef VTA_EMIT_KEY_H
#define VTA_EMIT_KEY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vta {

using Key = std::vector<int64_t>;

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t hash = key.size();
    for (int64_t value : key) hash = ((hash ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15u) ^ (hash >> 29);
    return hash;
  }
};

}  // namespace vta

#endif
