#include <algorithm>
#include <cstring>

#include "emit/stream.h"

namespace vta {

vta_part_sizes EmitStream::part_sizes() {
  gather_uop_loads();
  const int64_t placed = std::count_if(sequences_.begin(), sequences_.end(), [](const Sequence& s) { return s.dram >= 0; });
  return {size(), static_cast<int64_t>(accesses_.size()), placed, uop_count_, static_cast<int64_t>(constants_.size())};
}

void EmitStream::copy_part(const vta_part& part) const {
  for (int64_t i = 0; i < size(); ++i) {
    part.words[2 * i] = instructions_[i][0];
    part.words[2 * i + 1] = instructions_[i][1];
    part.segments[i] = static_cast<int8_t>(segments_[i]);
  }
  std::copy(units_.begin(), units_.end(), part.units);
  std::copy(access_ends_.begin(), access_ends_.end(), part.access_ends);
  std::memcpy(part.accesses, accesses_.data(), accesses_.size() * sizeof(vta_plan_access));
  std::memcpy(part.constants, constants_.data(), constants_.size() * sizeof(constants_[0]));
  std::vector<std::pair<int64_t, const std::string*>> placed;
  for (const auto& [key, number] : numbers_) {
    if (sequences_[number].dram >= 0) placed.emplace_back(sequences_[number].dram, &key);
  }
  std::sort(placed.begin(), placed.end());
  int64_t* ends = part.sequence_ends;
  for (const auto& [dram, key] : placed) {
    const int64_t count = static_cast<int64_t>(key->size() / sizeof(Rows));
    std::memcpy(part.uops + dram * static_cast<int64_t>(std::tuple_size<Rows>::value), key->data(), key->size());
    *ends++ = dram + count;
  }
}

}  // namespace vta
