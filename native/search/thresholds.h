#pragma once

#include <cstdint>

#include "vta_thresholds.h"

namespace vta::search {

constexpr int kFinalShift = 24;

// What a product is modulo 2^64: where it would not fit, no candidate is exact.
inline int64_t product(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }

inline int64_t divided_up(int64_t value, int64_t divisor) {
  return value >= 0 ? (value + divisor - 1) / divisor : -(-value / divisor);
}

// One row of thresholds.
struct Row {
  const int64_t* at;  // of the steps that some x goes up
  int64_t count;
  int64_t low;  // the level before the first of them
  int64_t first;
  int64_t last;
  int64_t least_start;
  int64_t most_start;
  double slope;
  double delay;  // 0 where there is none
  const int64_t* stand_in;  // where no x goes up a step, one that factors are to put right; null: there is none at all
  int64_t stand_in_level;

  bool moves() const { return count > 0; }
};

inline Row row_of(const vta_thresholds& all, int64_t row) {
  const int64_t begin = all.begin[row];
  return {all.at + row * all.count + begin,
          all.end[row] - begin,
          all.low + begin,
          all.first[row],
          all.last[row],
          all.least_start[row],
          all.most_start[row],
          all.slope[row],
          all.delay == nullptr ? 0.0 : all.delay[row],
          all.count > 0 ? all.at + row * all.count : nullptr,
          all.low + 1};
}

struct Candidate {
  int64_t factor;
  int64_t second;
  int64_t shift;
  int64_t outer;
  int64_t branch_shift;
};

// The best of a row until now.
class Best {
 public:
  Best(const vta_threshold_best& all, int64_t row, int64_t form) : all_(all), row_(row), branch_(form == VTA_FORM_BRANCH) {}

  // Whether nothing better can come.
  bool done() const { return all_.slack[row_] >= 0 && (branch_ || all_.start[row_] >= 0); }

  // Takes a candidate if it is better.
  void consider(const Row& row, const vta_threshold_offer& offer, const Candidate& candidate) const;

  void settle(const Row& row, const vta_threshold_offer& offer) const;

 private:
  const vta_threshold_best& all_;
  const int64_t row_;
  const bool branch_;
};

}  // namespace vta::search
