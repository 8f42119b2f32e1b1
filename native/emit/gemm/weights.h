// The weights of terms: which blocks a reduction step takes, where they lie in the constants, and where on chip.
#ifndef VTA_EMIT_WEIGHTS_H
#define VTA_EMIT_WEIGHTS_H

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emit/gemm/slots.h"
#include "emit/gemm/term.h"
#include "emit/stream.h"
#include "emit/window.h"

namespace vta {

// A weight block, counted from the first of its step along each axis.
struct WeightBlock {
  int64_t out, in, kh, kw;
};

// The blocks of a sparse term that are not zero among those of one reduction step of a tile.
std::vector<WeightBlock> nonzero_blocks(const Term& term, const Box& tile, const ReductionStep& step);

class Weights {
 public:
  Weights(Stream& stream, const vta_gemm_operator& op, const vta_gemm_schedule& schedule);

  // First row of the weights of a step, which are loaded if they are not on chip. `kept`: blocks of a term that keeps only some.
  int64_t rows(int64_t term, const Box& tile, const ReductionStep& step, int64_t kept);

 private:
  int64_t computed(int64_t index, const Box& tile, const ReductionStep& step);
  int64_t fixed(int64_t index, const Box& tile, const ReductionStep& step);
  void load(const Key& key, int64_t sram, const vta_constant& what, int64_t blocks);

  Stream& stream_;
  const Term* terms_;
  Slots slots_;
  std::vector<int64_t> fixed_base_;
  std::vector<std::pair<int64_t, int64_t>> fixed_at_;  // channel blocks whose weights are there: first and how many
  std::unordered_map<Key, int64_t, KeyHash> constants_;
};

}  // namespace vta

#endif
