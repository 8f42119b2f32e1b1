#include "vta_thresholds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

constexpr int kFinalShift = 24;
constexpr size_t kFew = 64;  // so few pairs are kept in order while they are found

// A second factor and a middle shift, with the first factor that comes nearest to the slope.
struct Pair {
  double off;  // what a step may be off, in units of x
  int64_t factor;
  int64_t second;
  int64_t shift;
};

struct Step {
  double margin;
  int64_t x;
  int64_t value;  // level << 24
};

std::vector<Pair> ranked_pairs(const vta_thresholds& thresholds, const vta_threshold_limits& limits) {
  const size_t wanted = static_cast<size_t>(limits.pairs);
  std::vector<Pair> pairs;
  pairs.reserve(wanted <= kFew ? wanted + 1 : size_t{2} << limits.most_shift);
  for (int shift = limits.least_shift; shift <= limits.most_shift; ++shift) {
    const double scaled = thresholds.slope * std::ldexp(1.0, kFinalShift + shift);
    const double dropped = std::ldexp(1.0, shift), width = static_cast<double>(thresholds.width);
    for (int64_t second = int64_t{1} << shift; second < int64_t{2} << shift; ++second) {
      const double ideal = scaled / static_cast<double>(second);
      const double factor = std::max(std::floor(ideal + 0.5), 1.0);
      const double off = std::abs(factor - ideal) / ideal * width + dropped / factor;
      if (wanted <= kFew && pairs.size() == wanted && off >= pairs.back().off) continue;
      pairs.push_back({off, static_cast<int64_t>(factor), second, shift});
      if (wanted > kFew) continue;
      for (size_t i = pairs.size() - 1; i > 0 && pairs[i].off < pairs[i - 1].off; --i) std::swap(pairs[i], pairs[i - 1]);
      if (pairs.size() > wanted) pairs.pop_back();
    }
  }
  if (wanted <= kFew) return pairs;
  const auto better = [](const Pair& a, const Pair& b) {
    return a.off != b.off ? a.off < b.off : (a.shift != b.shift ? a.shift < b.shift : a.second < b.second);
  };
  const size_t kept = std::min(pairs.size(), wanted);
  std::partial_sort(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(kept), pairs.end(), better);
  pairs.resize(kept);
  return pairs;
}

// The steps, those that leave the least room on either side first: with them most candidates fail at once.
std::vector<Step> ordered_steps(const vta_thresholds& thresholds) {
  const double slope = thresholds.slope * std::ldexp(1.0, kFinalShift);
  const double delay = thresholds.delay * std::ldexp(1.0, kFinalShift);
  std::vector<Step> steps;
  for (int64_t i = 0; i < thresholds.count; ++i) {
    const int64_t x = thresholds.at[i], value = thresholds.level[i] * (int64_t{1} << kFinalShift);
    steps.push_back({static_cast<double>(value) - slope * static_cast<double>(x) + (x < 0 ? delay : 0.0), x, value});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.margin < b.margin; });
  std::vector<Step> alternating;
  for (size_t low = 0, high = steps.size(); low < high;) {
    alternating.push_back(steps[low++]);
    if (low < high) alternating.push_back(steps[--high]);
  }
  return alternating;
}

int64_t divided_up(int64_t value, int64_t divisor) { return value >= 0 ? (value + divisor - 1) / divisor : -(-value / divisor); }

bool fits(const std::vector<Step>& steps, const Pair& pair, int64_t outer, double delay_levels) {
  const double scaled = delay_levels * std::ldexp(1.0, kFinalShift + static_cast<int>(pair.shift)) / static_cast<double>(pair.second);
  const int64_t delay = static_cast<int64_t>(std::nearbyint(scaled));
  int64_t lowest = std::numeric_limits<int64_t>::min(), highest = std::numeric_limits<int64_t>::max();
  for (const Step& step : steps) {
    const int64_t goal = divided_up(step.value - outer, pair.second) * (int64_t{1} << pair.shift);
    const int64_t product = step.x * pair.factor;
    lowest = std::max(lowest, goal - product + (step.x < 0 ? delay : 0));
    highest = std::min(highest, goal - (product - pair.factor) + (step.x - 1 < 0 ? delay : 0) - 1);
    if (lowest > highest) return false;
  }
  return true;
}

}  // namespace

extern "C" int32_t vta_threshold_search(const vta_thresholds* thresholds, const vta_threshold_limits* limits,
                                        vta_threshold_factors* found) {
  const std::vector<Pair> pairs = ranked_pairs(*thresholds, *limits);
  const std::vector<Step> steps = ordered_steps(*thresholds);
  int32_t count = 0;
  for (const Pair& pair : pairs) {
    for (int32_t part = 0; part < limits->parts && count < limits->wanted; ++part) {
      const int64_t outer = pair.second * part / limits->parts;
      if (part > 0 && outer == pair.second * (part - 1) / limits->parts) continue;
      if (fits(steps, pair, outer, thresholds->delay)) found[count++] = {pair.factor, pair.second, pair.shift, outer};
    }
    if (count == limits->wanted) return count;
  }
  for (int32_t i = count; i < limits->wanted; ++i) {
    const Pair& pair = pairs[std::min<size_t>(static_cast<size_t>(i - count), pairs.size() - 1)];
    found[i] = {pair.factor, pair.second, pair.shift, 0};
  }
  return count;
}

extern "C" void vta_threshold_starts(const vta_threshold_starts_job* job) {
  constexpr int64_t kWord = int64_t{1} << 32;
  for (int64_t i = 0; i < job->count; ++i) {
    const int64_t factor = job->factor[i], room = job->highest[i] - job->lowest[i];
    // Of the numbers that are `lowest` modulo 2^32, the last that the product of the least start is not below.
    int64_t goal = job->lowest[i] - divided_up(job->lowest[i] - factor * job->least[i], kWord) * kWord;
    job->start[i] = -1;
    for (int64_t wrap = 0; wrap < job->wraps; ++wrap, goal += kWord) {
      const int64_t start = std::max(divided_up(goal, factor), job->least[i]);
      if (start > job->most[i]) break;
      if (start * factor - goal > room) continue;
      job->start[i] = start;
      break;
    }
  }
}
