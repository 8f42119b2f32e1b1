// Exact sets of SRAM rows, and the sets that the affine loops of an instruction reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vta::verify {

class RowSet {
 public:
  explicit RowSet(int64_t depth) : words_((depth + 63) / 64) {}

  void clear();
  void add(int64_t row) { words_[row >> 6] |= uint64_t{1} << (row & 63); }
  bool has(int64_t row) const { return (words_[row >> 6] >> (row & 63) & 1) != 0; }
  int64_t size() const;
  // Adds every row of `other`, moved up by `shift`.
  void add_shifted(const RowSet& other, int64_t shift);
  // Adds the set moved up by step, 2 step, ..., (count - 1) step.
  void repeat(int64_t count, int64_t step);

  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (uint64_t bits = words_[word]; bits != 0; bits &= bits - 1) {
        visit(static_cast<int64_t>(word * 64 + __builtin_ctzll(bits)));
      }
    }
  }

 private:
  std::vector<uint64_t> words_;
};

// One side (dst, src or wgt) of the loops of a GEMM or ALU: row = base + out * factor_out + in * factor_in.
struct AffineLoops {
  int64_t iter_out, factor_out, iter_in, factor_in;
  int64_t reach() const { return (iter_out - 1) * factor_out + (iter_in - 1) * factor_in; }
};

// Finds the rows that loops over a set of bases touch. All must lie below the depth.
class AffineRows {
 public:
  explicit AffineRows(int64_t depth) : bases(depth), rows(depth), offsets_(depth) {}

  RowSet bases;
  RowSet rows;
  // Sets `rows` from `bases`.
  void expand(const AffineLoops& loops);

 private:
  RowSet offsets_;
};

}  // namespace vta::verify
