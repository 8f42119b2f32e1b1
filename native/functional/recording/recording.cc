#include "functional/recording/recording.h"

#include <algorithm>
#include <cstring>

namespace vta {

bool Recording::holds_for(const vta_functional_job& job) const {
  if (job.first > job.last || job.dram_bytes < dram_bytes) return false;
  const uint64_t bytes = (job.last - job.first) * kInstructionBytes;
  if (bytes != stream.size()) return false;
  if (bytes != 0 && std::memcmp(stream.data(), job.stream + job.first * kInstructionBytes, bytes) != 0) return false;
  const uint8_t* kept = uop_bytes.data();
  for (const DramRange& range : uop_ranges) {
    const uint64_t length = range.last - range.first;
    if (std::memcmp(kept, job.dram + range.first, length) != 0) return false;
    kept += length;
  }
  return true;
}

bool Recording::loads_uops_from(const DramRange& range) const {
  return std::any_of(uop_ranges.begin(), uop_ranges.end(), [&](const DramRange& uops) { return uops.meets(range); });
}

}  // namespace vta
