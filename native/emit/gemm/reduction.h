// Adds the products of terms to accumulator rows, loading the inputs and weights that they need.
#ifndef VTA_EMIT_REDUCTION_H
#define VTA_EMIT_REDUCTION_H

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
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

// Of each channel block of a tile, whether its last products are to requantize its rows, and then whether they did.
class Finishing {
 public:
  // `keep` brings the parameters of a channel block of the tile into place.
  Finishing(int64_t blocks, std::function<void(int64_t)> keep) : done_(static_cast<size_t>(blocks)), keep_(std::move(keep)) {}

  void keep(int64_t block) {
    keep_(block);
    done_[static_cast<size_t>(block)] = true;
  }
  bool done(int64_t block) const { return done_[static_cast<size_t>(block)]; }

 private:
  std::vector<bool> done_;
  std::function<void(int64_t)> keep_;
};

class Reduction {
 public:
  Reduction(Stream& stream, const vta_gemm_operator& op, const vta_gemm_schedule& schedule);

  // Whether the last products of a term can requantize: they reach every row of a tile, in two loops over its places.
  bool can_finish(int64_t term) const;

  // Adds a term to the rows of a tile from `acc` on; with `finishing` they are requantized where that goes.
  void add(int64_t term, const Box& tile, int64_t acc, Unwritten& unwritten, Finishing* finishing = nullptr);

 private:
  using Nest = std::vector<LoopedUops>;
  using Blocks = std::vector<WeightBlock>;

  std::vector<ReductionStep> steps_of(const Term& term, const Box& tile) const;
  void add_step(int64_t index, const Box& tile, const ReductionStep& step, int64_t acc, Unwritten& unwritten,
                Finishing* finishing);
  void finish_step(int64_t index, const Box& tile, const ReductionStep& step, const Box& window, const Rows& base, GemmKind kind,
                   Finishing& finishing);
  const LoopedUops& finishing_nest(int64_t index, const Box& tile, const ReductionStep& step, const Box& window, const Rows& base,
                                   int64_t block);
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
  std::unordered_map<Key, LoopedUops, KeyHash> finishing_nests_;
  std::unordered_map<Key, Blocks, KeyHash> kept_;
};

}  // namespace vta

#endif
