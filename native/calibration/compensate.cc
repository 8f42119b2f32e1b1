// Rounds weights one after the other, so that those that are left make up for the error.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <vector>

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

// Forced inline, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline void add_behind(const double* row, int64_t count, const Lanes& error, Lanes* behind) {
  for (int64_t at = 0; at < count; ++at) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      behind[at].value[lane] = std::fma(row[at], error.value[lane], behind[at].value[lane]);
    }
  }
}

void add_plain(const double* row, int64_t count, const Lanes& error, Lanes* behind) { add_behind(row, count, error, behind); }

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void add_avx2(const double* row, int64_t count, const Lanes& error, Lanes* behind) {
  add_behind(row, count, error, behind);
}
#if defined(__clang__)
__attribute__((target("avx512f")))
#else
__attribute__((target("avx512f,prefer-vector-width=512")))
#endif
void add_avx512(const double* row, int64_t count, const Lanes& error, Lanes* behind) {
  add_behind(row, count, error, behind);
}
#endif

using Add = void (*)(const double* row, int64_t count, const Lanes& error, Lanes* behind);

Add best_add() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return add_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return add_avx2;
#endif
  return add_plain;
}

// Rounds the last weight, and the others against what the errors behind them add up to; returns the squared error of the results.
// With L L^T the covariance, it is the sum of the squares of L^T times the errors; what is added for a weight is known before it is
// rounded, and rounding to the nearest then makes its square least.
Lanes round_one_by_one(const double* lower, int64_t values, Add add, Channels* channels) {
  std::fill(channels->behind.begin(), channels->behind.end(), Lanes{});
  Lanes squares{};
  for (int64_t at = values - 1; at >= 0; --at) {
    const double* row = lower + at * values;
    const auto place = static_cast<size_t>(at);
    Lanes error;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double level = channels->levels[place].value[lane], wanted = level + channels->behind[place].value[lane] / row[at];
      const double rounded = nearest(wanted), lost = row[at] * (wanted - rounded);
      channels->found[place].value[lane] = rounded;
      error.value[lane] = level - rounded;
      squares.value[lane] += lost * lost;
    }
    add(row, at, error, channels->behind.data());
  }
  return squares;
}

// The same for weights that are rounded each by itself.
Lanes round_plainly(const double* lower, int64_t values, Add add, Channels* channels) {
  std::fill(channels->behind.begin(), channels->behind.end(), Lanes{});
  Lanes squares{};
  for (int64_t at = values - 1; at >= 0; --at) {
    const double* row = lower + at * values;
    const auto place = static_cast<size_t>(at);
    Lanes error;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double level = channels->levels[place].value[lane], rounded = nearest(level);
      channels->plain[place].value[lane] = rounded;
      error.value[lane] = level - rounded;
      const double lost = row[at] * error.value[lane] + channels->behind[place].value[lane];
      squares.value[lane] += lost * lost;
    }
    add(row, at, error, channels->behind.data());
  }
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
  const Add add = best_add();
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
