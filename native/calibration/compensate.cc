// Rounds weights one after the other, so that those that are left make up for the error.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <vector>

#include "calibration/vectors.h"
#include "vta_calibration.h"
#include "vta_common.h"

namespace {

// Output channels that are rounded side by side.
constexpr int64_t kLanes = 8;
constexpr double kLargest = 127.0;

struct Lanes {
  double value[kLanes];
};

// Weights of some output channels, the last one to be rounded first.
struct Channels {
  std::vector<Lanes> levels;
  std::vector<Lanes> found;
  std::vector<Lanes> plain;
  std::vector<Lanes> behind;  // what errors add up to for those that are still to come

  explicit Channels(int64_t values)
      : levels(static_cast<size_t>(values)), found(levels.size()), plain(levels.size()), behind(levels.size()) {}
};

double nearest(double level) { return std::clamp(std::floor(level + 0.5), -kLargest, kLargest); }

// Rows of errors that are taken in together.
constexpr int64_t kRows = 8;

struct Errors {
  Lanes of[kRows];
};

// Adds to what is behind `count` weights: the errors of some rows, `step` values apart, the last one first.
// Forced inline, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline void add_behind(const double* first_row, int64_t step, int64_t rows, int64_t count,
                                                      const Errors& errors, Lanes* behind) {
  for (int64_t at = 0; at < count; ++at) {
    Lanes total = behind[at];
    for (int64_t row = rows - 1; row >= 0; --row) {
      const double factor = first_row[row * step + at];
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        total.value[lane] = std::fma(factor, errors.of[row].value[lane], total.value[lane]);
      }
    }
    behind[at] = total;
  }
}

using Add = void (*)(const double* first_row, int64_t step, int64_t rows, int64_t count, const Errors& errors, Lanes* behind);

// All rows of a block, or the few that are left.
__attribute__((always_inline)) inline void add_either(const double* first_row, int64_t step, int64_t rows, int64_t count,
                                                      const Errors& errors, Lanes* behind) {
  if (rows == kRows) return add_behind(first_row, step, kRows, count, errors, behind);
  add_behind(first_row, step, rows, count, errors, behind);
}

void add_plain(const double* first_row, int64_t step, int64_t rows, int64_t count, const Errors& errors, Lanes* behind) {
  add_either(first_row, step, rows, count, errors, behind);
}

VTA_AVX2 void add_avx2(const double* first_row, int64_t step, int64_t rows, int64_t count, const Errors& errors, Lanes* behind) {
  add_either(first_row, step, rows, count, errors, behind);
}
VTA_AVX512 void add_avx512(const double* first_row, int64_t step, int64_t rows, int64_t count, const Errors& errors,
                           Lanes* behind) {
  add_either(first_row, step, rows, count, errors, behind);
}

// Rounds the last weight first. `round` gives the error of a weight, whose place on the diagonal it gets; what that adds to the
// weights before it is taken in at once within a block, and for all others when the block is done: in the order of the rows.
template <typename Round>
void round_in_order(const double* lower, int64_t values, Add add, Channels* channels, const Round& round) {
  Lanes* behind = channels->behind.data();
  std::fill(channels->behind.begin(), channels->behind.end(), Lanes{});
  for (int64_t end = values, first; end > 0; end = first) {
    first = std::max<int64_t>(0, end - kRows);
    Errors errors, last;
    for (int64_t at = end - 1; at >= first; --at) {
      const double* row = lower + at * values;
      last.of[0] = errors.of[at - first] = round(static_cast<size_t>(at), row[at]);
      add(row + first, values, 1, at - first, last, behind + first);
    }
    add(lower + first * values, values, end - first, first, errors, behind);
  }
}

// Rounds the last weight, and the others against what the errors behind them add up to; returns the squared error of the results.
// With L L^T the covariance, it is the sum of the squares of L^T times the errors; what is added for a weight is known before it is
// rounded, and rounding to the nearest then makes its square least.
Lanes round_one_by_one(const double* lower, int64_t values, Add add, Channels* channels) {
  Lanes squares{};
  round_in_order(lower, values, add, channels, [&](size_t place, double own) {
    Lanes error;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double level = channels->levels[place].value[lane], wanted = level + channels->behind[place].value[lane] / own;
      const double rounded = nearest(wanted), lost = own * (wanted - rounded);
      channels->found[place].value[lane] = rounded;
      error.value[lane] = level - rounded;
      squares.value[lane] += lost * lost;
    }
    return error;
  });
  return squares;
}

// The same for weights that are rounded each by itself.
Lanes round_plainly(const double* lower, int64_t values, Add add, Channels* channels) {
  Lanes squares{};
  round_in_order(lower, values, add, channels, [&](size_t place, double own) {
    Lanes error;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double level = channels->levels[place].value[lane], rounded = nearest(level);
      channels->plain[place].value[lane] = rounded;
      error.value[lane] = level - rounded;
      const double lost = own * error.value[lane] + channels->behind[place].value[lane];
      squares.value[lane] += lost * lost;
    }
    return error;
  });
  return squares;
}

struct Group {
  const double* levels;
  const double* lower;
  const int64_t* order;
  int64_t values;
  double* rounded;
};

void round_channels(const Group& group, int64_t first, int64_t count, Add add, Channels* channels) {
  for (int64_t at = 0; at < group.values; ++at) {
    Lanes& levels = channels->levels[static_cast<size_t>(at)];
    levels = {};
    for (int64_t lane = 0; lane < count; ++lane) {
      levels.value[lane] = group.levels[(first + lane) * group.values + group.order[at]];
    }
  }
  const Lanes found = round_one_by_one(group.lower, group.values, add, channels);
  const Lanes plain = round_plainly(group.lower, group.values, add, channels);
  for (int64_t lane = 0; lane < count; ++lane) {
    // What is not finite is not less.
    const std::vector<Lanes>& best = found.value[lane] < plain.value[lane] ? channels->found : channels->plain;
    for (int64_t at = 0; at < group.values; ++at) {
      group.rounded[(first + lane) * group.values + group.order[at]] = best[static_cast<size_t>(at)].value[lane];
    }
  }
}

}  // namespace

void vta_order_covariance(const double* covariance, const double* own, const int64_t* order, int64_t values, double share,
                          double* ordered) {
  for (int64_t i = 0; i < values; ++i, ordered += values) {
    const double* row = covariance + order[i] * values;
    for (int64_t j = 0; j < values; ++j) ordered[j] = share * row[order[j]];
    ordered[i] = own[order[i]];
  }
}

int vta_compensate(const vta_roundings* roundings) {
  const vta_roundings& r = *roundings;
  const Add add = vta::calibration::widest(add_plain, add_avx2, add_avx512);
  try {
    Channels channels(r.values);
    for (int64_t g = 0; g < r.groups; ++g) {
      const int64_t levels = g * r.outputs * r.values;
      const Group group{r.levels + levels, r.lower + g * r.values * r.values, r.order + g * r.values, r.values, r.rounded + levels};
      for (int64_t first = 0; first < r.outputs; first += kLanes) {
        round_channels(group, first, std::min(kLanes, r.outputs - first), add, &channels);
      }
    }
  } catch (const std::bad_alloc&) {
    return VTA_FAILED;
  }
  return VTA_DONE;
}
