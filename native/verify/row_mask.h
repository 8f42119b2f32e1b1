// A set of SRAM rows.
#ifndef VTA_ROW_MASK_H
#define VTA_ROW_MASK_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vta {

class RowMask {
 public:
  RowMask() = default;  // of no rows
  explicit RowMask(int64_t rows) : words_(static_cast<size_t>((rows + 63) / 64)) {}

  void clear() { std::fill(words_.begin(), words_.end(), 0); }

  bool test(int64_t row) const { return words_[index(row)] >> (row & 63) & 1; }

  // Adds rows [first, last).
  void set(int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row = next_word(row)) words_[index(row)] |= span(row, last);
  }

  // Adds the rows of a set of the same size.
  void merge(const RowMask& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }

  // Takes away the rows of a set of the same size.
  void remove(const RowMask& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
  }

  // Whether it has a row of a set of the same size.
  bool meets(const RowMask& other) const {
    uint64_t both = 0;
    for (size_t i = 0; i < words_.size(); ++i) both |= words_[i] & other.words_[i];
    return both != 0;
  }

  // The first row of [first, last) that is not in the set, or `last`.
  int64_t first_missing(int64_t first, int64_t last) const {
    for (int64_t row = first; row < last; row = next_word(row)) {
      const uint64_t missing = ~words_[index(row)] & span(row, last);
      if (missing != 0) return (row & ~int64_t{63}) + lowest_bit(missing);
    }
    return last;
  }

  // Adds every row r + k * stride for r in the set and k < count. Rows past the end are dropped.
  void repeat(int64_t count, int64_t stride) {
    if (stride == 0) return;
    for (int64_t done = 1; done < count && done * stride < rows();) {
      const int64_t more = std::min(done, count - done);
      add_shifted(more * stride);
      done += more;
    }
  }

 private:
  static size_t index(int64_t row) { return static_cast<size_t>(row >> 6); }
  static int64_t next_word(int64_t row) { return (row | 63) + 1; }

  // The bits of the word of `row` that stand for [row, last).
  static uint64_t span(int64_t row, int64_t last) {
    const uint64_t from = ~uint64_t{0} << (row & 63);
    return last >= next_word(row) ? from : from & ((uint64_t{1} << (last & 63)) - 1);
  }

  static int lowest_bit(uint64_t word) {
    int bit = 0;
    while ((word >> bit & 1) == 0) ++bit;
    return bit;
  }

  int64_t rows() const { return static_cast<int64_t>(words_.size()) * 64; }

  void add_shifted(int64_t distance) {
    const size_t whole = index(distance);
    const int part = static_cast<int>(distance & 63);
    for (size_t i = words_.size(); i-- > whole;) {
      uint64_t moved = words_[i - whole] << part;
      if (part != 0 && i > whole) moved |= words_[i - whole - 1] >> (64 - part);
      words_[i] |= moved;
    }
  }

  std::vector<uint64_t> words_;
};

}  // namespace vta

#endif
