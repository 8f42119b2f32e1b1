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

// Output channels that are rounded side by side, each of them in two ways: by what makes up for errors, and by itself.
constexpr int64_t kLanes = 8, kBoth = 2 * kLanes;
// Rows of errors that are taken in together.
constexpr int64_t kRows = VTA_FACTOR_ROWS;
constexpr double kLargest = 127.0;

struct Lanes {
  double value[kLanes];
};

// The first way, and the second.
struct Both {
  double value[kBoth];
};

// Weights of some output channels, the last one to be rounded first.
struct Channels {
  std::vector<Lanes> levels;
  std::vector<Both> rounded;
  std::vector<Both> behind;  // what errors add up to for those that are still to come

  explicit Channels(int64_t values) : levels(static_cast<size_t>(values)), rounded(levels.size()), behind(levels.size()) {}
};

__attribute__((always_inline)) inline double nearest(double level) { return std::clamp(std::floor(level + 0.5), -kLargest, kLargest); }

struct Errors {
  Both of[kRows];
};

// Adds to what is behind the first `count` weights: the errors of some rows of a block, the last one first.
// Forced inline, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline void add_behind(const double* block, int64_t rows, int64_t count, const Errors& errors,
                                                      Both* behind) {
  for (int64_t at = 0; at < count; ++at, block += kRows) {
    Both total = behind[at];
    for (int64_t row = rows - 1; row >= 0; --row) {
#pragma GCC unroll 1  // a loop that stays a loop is vectorised
      for (int64_t lane = 0; lane < kBoth; ++lane) {
        total.value[lane] = std::fma(block[row], errors.of[row].value[lane], total.value[lane]);
      }
    }
    behind[at] = total;
  }
}

// All rows of a block, or the few that are left.
__attribute__((always_inline)) inline void add_either(const double* block, int64_t rows, int64_t count, const Errors& errors,
                                                      Both* behind) {
  if (rows == kRows) return add_behind(block, kRows, count, errors, behind);
  add_behind(block, rows, count, errors, behind);
}

// Rounds a weight to the nearest of what makes up for the errors behind it, and to the nearest of what it is; adds the squares of
// what results are off by then to those of each way.
__attribute__((always_inline)) inline Both round_weight(const Lanes& level, double own, const Both& behind, Both* rounded,
                                                        Both* squares) {
  Both error;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const int64_t other = lane + kLanes;
    const double wanted = level.value[lane] + behind.value[lane] / own;
    rounded->value[lane] = nearest(wanted);
    rounded->value[other] = nearest(level.value[lane]);
    error.value[lane] = level.value[lane] - rounded->value[lane];
    error.value[other] = level.value[lane] - rounded->value[other];
    const double lost = own * (wanted - rounded->value[lane]);
    const double plainly = own * error.value[other] + behind.value[other];
    squares->value[lane] += lost * lost;
    squares->value[other] += plainly * plainly;
  }
  return error;
}

struct Group {
  const double* levels;
  const double* lower;
  const int64_t* order;
  int64_t values;
  double* rounded;
};

// Rounds the last weight first, in both ways; returns the squared errors of the results. What an error adds to the weights before it
// is taken in at once within a block, and for all others when the block is done: in the order of the rows.
// With L L^T the covariance, the squared error is the sum of the squares of L^T times the errors; what is added for a weight is known
// before it is rounded, and rounding to the nearest then makes its square least.
__attribute__((always_inline)) inline Both round_in_order(const Group& group, Channels* channels) {
  const int64_t blocks = (group.values + kRows - 1) / kRows;
  Both* behind = channels->behind.data();
  Both squares{};
  std::fill(channels->behind.begin(), channels->behind.end(), Both{});
  for (int64_t at = blocks - 1; at >= 0; --at) {
    const double* block = group.lower + at * blocks * kRows * kRows;
    const int64_t first = at * kRows, rows = std::min(kRows, group.values - first);
    Errors errors;
    for (int64_t row = rows - 1; row >= 0; --row) {
      const auto place = static_cast<size_t>(first + row);
      const double* values = block + first * kRows + row;
      errors.of[row] = round_weight(channels->levels[place], values[row * kRows], behind[place], &channels->rounded[place], &squares);
      for (int64_t before = 0; before < row; ++before) {
#pragma GCC unroll 1
        for (int64_t lane = 0; lane < kBoth; ++lane) {
          double& total = behind[first + before].value[lane];
          total = std::fma(values[before * kRows], errors.of[row].value[lane], total);
        }
      }
    }
    add_either(block, rows, first, errors, behind);
  }
  return squares;
}

__attribute__((always_inline)) inline void round_channels(const Group& group, int64_t first, int64_t count, Channels* channels) {
  for (int64_t at = 0; at < group.values; ++at) {
    Lanes& levels = channels->levels[static_cast<size_t>(at)];
    levels = {};
    for (int64_t lane = 0; lane < count; ++lane) {
      levels.value[lane] = group.levels[(first + lane) * group.values + group.order[at]];
    }
  }
  const Both squares = round_in_order(group, channels);
  for (int64_t lane = 0; lane < count; ++lane) {
    // What is not finite is not less.
    const int64_t best = squares.value[lane] < squares.value[lane + kLanes] ? lane : lane + kLanes;
    for (int64_t at = 0; at < group.values; ++at) {
      group.rounded[(first + lane) * group.values + group.order[at]] = channels->rounded[static_cast<size_t>(at)].value[best];
    }
  }
}

void round_plain(const Group& group, int64_t first, int64_t count, Channels* channels) {
  round_channels(group, first, count, channels);
}
VTA_AVX2 void round_avx2(const Group& group, int64_t first, int64_t count, Channels* channels) {
  round_channels(group, first, count, channels);
}
VTA_AVX512 void round_avx512(const Group& group, int64_t first, int64_t count, Channels* channels) {
  round_channels(group, first, count, channels);
}

}  // namespace

int vta_compensate(const vta_roundings* roundings) {
  const vta_roundings& r = *roundings;
  const auto round = vta::calibration::widest(round_plain, round_avx2, round_avx512);
  const int64_t padded = (r.values + kRows - 1) / kRows * kRows;
  try {
    Channels channels(r.values);
    for (int64_t g = 0; g < r.groups; ++g) {
      const int64_t levels = g * r.outputs * r.values;
      const Group group{r.levels + levels, r.lower + g * padded * padded, r.order + g * r.values, r.values, r.rounded + levels};
      for (int64_t first = 0; first < r.outputs; first += kLanes) {
        round(group, first, std::min(kLanes, r.outputs - first), &channels);
      }
    }
  } catch (const std::bad_alloc&) {
    return VTA_FAILED;
  }
  return VTA_DONE;
}
