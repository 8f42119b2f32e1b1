// Adds the products of terms to accumulator rows, loading the inputs and weights that they need.
#ifndef VTA_EMIT_REDUCTION_H
#define VTA_EMIT_REDUCTION_H

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emit/gemm/access_map.h"
#include "emit/gemm/slots.h"
#include "emit/gemm/term.h"
#include "emit/gemm/weights.h"
#include "emit/stream.h"
#include "emit/window.h"

namespace vta {

// The channel blocks of a tile that nothing has been written to yet.
class Unwritten {
 public:
  explicit Unwritten(int64_t blocks) : unwritten_(static_cast<size_t>(blocks), true), left_(blocks) {}

  void write(int64_t first, int64_t count) {
    for (int64_t block = first; block < first + count; ++block) {
      left_ -= unwritten_[static_cast<size_t>(block)];
      unwritten_[static_cast<size_t>(block)] = false;
    }
  }
  void write_all() { write(0, static_cast<int64_t>(unwritten_.size())); }
  bool any() const { return left_ > 0; }

 private:
  std::vector<bool> unwritten_;
  int64_t left_;
};

class Reduction {
 public:
  Reduction(Stream& stream, const vta_gemm_operator& op, const vta_gemm_schedule& schedule);

  // Adds a term to the rows of a tile from `acc` on.
  void add(int64_t term, const Box& tile, int64_t acc, Unwritten& unwritten);

 private:
  using Nest = std::vector<LoopedUops>;
  using Blocks = std::vector<WeightBlock>;

  void add_step(int64_t index, const Box& tile, const ReductionStep& step, int64_t acc, Unwritten& unwritten);
  const Blocks& kept(int64_t index, const Box& tile, const ReductionStep& step);
  int64_t input_rows(const Term& term, const Box& window);
  const Nest& dense_nest(int64_t index, const Box& tile, const ReductionStep& step, const Box& window, const Rows& base);
  void fold_box(const Term& term, const Box& tile, const ReductionStep& step, const Box& window, const AccessMap& rows,
                const AccessMap& columns, const Rows& base, std::vector<Folded>& folded) const;
  const Nest& sparse_nest(int64_t index, const Box& tile, const ReductionStep& step, const Box& window, const Rows& base,
                          const Blocks& kept);

  Stream& stream_;
  const Term* terms_;
  const vta_gemm_schedule& schedule_;
  Slots inputs_;
  Weights weights_;
  std::unordered_map<Key, Nest, KeyHash> nests_;
  std::unordered_map<Key, Blocks, KeyHash> kept_;
};

}  // namespace vta

#endif
