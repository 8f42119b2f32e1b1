#include "verify/rows.h"

#include <algorithm>

namespace vta::verify {

void RowSet::clear() { std::fill(words_.begin(), words_.end(), 0); }

int64_t RowSet::size() const {
  int64_t size = 0;
  for (uint64_t word : words_) size += __builtin_popcountll(word);
  return size;
}

// Works from the top down, so that a set may be shifted into itself.
void RowSet::add_shifted(const RowSet& other, int64_t shift) {
  const int64_t whole = shift >> 6;
  const int bits = static_cast<int>(shift & 63);
  for (int64_t word = static_cast<int64_t>(words_.size()) - 1; word >= whole; --word) {
    uint64_t moved = other.words_[word - whole] << bits;
    if (bits != 0 && word > whole) moved |= other.words_[word - whole - 1] >> (64 - bits);
    words_[word] |= moved;
  }
}

void RowSet::repeat(int64_t count, int64_t step) {
  if (step == 0) return;
  for (int64_t done = 1; done < count;) {
    const int64_t more = std::min(done, count - done);
    add_shifted(*this, more * step);
    done += more;
  }
}

void AffineRows::expand(const AffineLoops& loops) {
  offsets_.clear();
  offsets_.add(0);
  offsets_.repeat(loops.iter_in, loops.factor_in);
  offsets_.repeat(loops.iter_out, loops.factor_out);
  rows.clear();
  // The sum of two sets is symmetric: walk the smaller one.
  const bool few_bases = bases.size() < offsets_.size();
  const RowSet& walked = few_bases ? bases : offsets_;
  const RowSet& moved = few_bases ? offsets_ : bases;
  walked.for_each([&](int64_t row) { rows.add_shifted(moved, row); });
}

}  // namespace vta::verify
