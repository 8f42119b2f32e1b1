// Looks for two factors of thresholds, those that promise most first.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "search/thresholds.h"

namespace vta::search {
namespace {

constexpr int64_t kStill = (int64_t{1} << 16) + 1;  // the factor of what never moves: one that finds a start soon

// A second factor and a middle shift, with the first factor that comes nearest to the slope.
struct Pair {
  double off;  // what a step may be off, in units of x
  int64_t factor;
  int64_t second;
  int64_t shift;
};

struct Later {
  bool operator()(const Pair& a, const Pair& b) const {
    return a.off != b.off ? a.off > b.off : (a.shift != b.shift ? a.shift > b.shift : a.second > b.second);
  }
};

double nearest(double ideal) { return std::max(std::floor(ideal + 0.5), 1.0); }

// The pairs of one middle shift, by their place from the second factor 1 << shift on.
class PairsOfShift {
 public:
  PairsOfShift(double slope, double width, int shift)
      : width_(width), dropped_(std::ldexp(1.0, shift)), scaled_(slope * std::ldexp(1.0, kFinalShift + shift)), shift_(shift) {}

  size_t count() const { return size_t{1} << shift_; }

  void offs(std::vector<double>* found) const {
    const Lanes one = Lanes{} + 1.0, half = Lanes{} + 0.5, scaled = Lanes{} + scaled_;
    // What is added to 2^52 is rounded: `ideal` is far below it.
    const Lanes whole = Lanes{} + 4503599627370496.0;
    found->resize(count());
    Lanes second = Lanes{} + dropped_ + Lanes{0.0, 1.0};
    for (size_t i = 0; i < count(); i += kLanes, second += static_cast<double>(kLanes)) {
      const Lanes ideal = scaled / second, up = ideal + half, rounded = (up + whole) - whole;
      const Lanes below = rounded > up ? rounded - one : rounded, factor = below < one ? one : below;
      const Lanes away = factor > ideal ? factor - ideal : ideal - factor;
      const Lanes off = away / ideal * width_ + dropped_ / factor;
      for (size_t lane = 0; lane < kLanes; ++lane) (*found)[i + lane] = off[lane];
    }
  }

  Pair pair(size_t place, double off) const {
    const int64_t second = static_cast<int64_t>(count() + place);
    return {off, static_cast<int64_t>(nearest(scaled_ / static_cast<double>(second))), second, shift_};
  }

 private:
  static constexpr size_t kLanes = 2;  // what every x86-64 has
  typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));

  const double width_;
  const double dropped_;
  const double scaled_;
  const int shift_;
};

// Pairs, those that promise most first; those of a shift are made when the first of them may be the next.
class RankedPairs {
 public:
  RankedPairs(const Row& row, const vta_threshold_limits& limits)
      : slope_(row.slope), width_(static_cast<double>(row.last - row.first)), last_(limits.most_shift), left_(limits.pairs),
        shift_(limits.least_shift) {}

  // Stores the next pair, if there is one.
  bool next(Pair* pair) {
    if (left_ == 0) return false;
    if (left_ <= kFew && shift_ <= last_) keep_few();
    while (shift_ <= last_ && (heap_.empty() || heap_.front().off >= least_off())) add_shift();
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    *pair = heap_.back();
    heap_.pop_back();
    --left_;
    return true;
  }

 private:
  static constexpr int64_t kFew = 64;

  // What no pair of the next shift, or of one after it, is below: the middle shift alone drops as much.
  double least_off() const {
    constexpr double kRounding = 1.0 - 1e-9;
    return std::ldexp(1.0, shift_) / (slope_ * std::ldexp(1.0, kFinalShift) + 1.0) * kRounding;
  }

  void add_shift() {
    const PairsOfShift pairs(slope_, width_, shift_);
    pairs.offs(&off_);
    for (size_t i = 0; i < off_.size(); ++i) heap_.push_back(pairs.pair(i, off_[i]));
    std::make_heap(heap_.begin(), heap_.end(), Later());
    ++shift_;
  }

  // Of all shifts no more than are left to be told.
  void keep_few() {
    struct Place {
      double off;
      int shift;
      size_t at;
    };
    Place few[kFew];
    const size_t most = static_cast<size_t>(left_);
    size_t kept = 0;
    double largest = std::numeric_limits<double>::infinity();
    for (; shift_ <= last_; ++shift_) {
      const PairsOfShift pairs(slope_, width_, shift_);
      pairs.offs(&off_);
      for (size_t i = 0; i < off_.size(); ++i) {
        if (off_[i] >= largest) continue;
        size_t at = kept < most ? kept++ : kept - 1;
        for (; at > 0 && off_[i] < few[at - 1].off; --at) few[at] = few[at - 1];
        few[at] = {off_[i], shift_, i};
        if (kept == most) largest = few[most - 1].off;
      }
    }
    for (size_t i = 0; i < kept; ++i) heap_.push_back(PairsOfShift(slope_, width_, few[i].shift).pair(few[i].at, few[i].off));
  }

  const double slope_;
  const double width_;
  const int last_;
  int64_t left_;
  int shift_;
  std::vector<Pair> heap_;
  std::vector<double> off_;
};

// The steps, those that leave the least room on either side first: with them most candidates fail at once.
class Steps {
 public:
  explicit Steps(const Row& row) : slope_(row.slope * std::ldexp(1.0, kFinalShift)), delay_(row.delay * std::ldexp(1.0, kFinalShift)) {
    const size_t count = static_cast<size_t>(row.count);
    steps_.reserve(count + 1);
    margin_.reserve(count + 1);
    for (int64_t i = 0; i < row.count; ++i) add(row.at[i], row.low + 1 + i);
    if (!row.moves() && row.stand_in != nullptr) add(*row.stand_in, row.stand_in_level);
    const size_t tight = std::min(kTight, steps_.size() / 2);
    for (size_t i = 0; i < tight; ++i) {
      to_front(2 * i, std::min_element(margin_.begin() + static_cast<std::ptrdiff_t>(2 * i), margin_.end()));
      to_front(2 * i + 1, std::max_element(margin_.begin() + static_cast<std::ptrdiff_t>(2 * i + 1), margin_.end()));
    }
  }

  // Whether some term may put every step right, with an outer term for each that suits it best.
  bool may_be_met_by(const Pair& pair, int64_t delay) const {
    int64_t lowest = std::numeric_limits<int64_t>::min(), highest = std::numeric_limits<int64_t>::max();
    for (const Step& step : steps_) {
      const int64_t most = divided_up(step.value, pair.second) * (int64_t{1} << pair.shift);
      const int64_t least = most - (int64_t{1} << pair.shift), reached = product(step.x, pair.factor);
      lowest = std::max(lowest, least - reached + (step.x < 0 ? delay : 0));
      highest = std::min(highest, most - (reached - pair.factor) + (step.x - 1 < 0 ? delay : 0) - 1);
      if (lowest > highest) return false;
    }
    return true;
  }

  // Whether some term puts every step right.
  bool met_by(const Pair& pair, int64_t outer, int64_t delay) const {
    int64_t lowest = std::numeric_limits<int64_t>::min(), highest = std::numeric_limits<int64_t>::max();
    for (const Step& step : steps_) {
      const int64_t goal = divided_up(step.value - outer, pair.second) * (int64_t{1} << pair.shift);
      const int64_t reached = product(step.x, pair.factor);
      lowest = std::max(lowest, goal - reached + (step.x < 0 ? delay : 0));
      highest = std::min(highest, goal - (reached - pair.factor) + (step.x - 1 < 0 ? delay : 0) - 1);
      if (lowest > highest) return false;
    }
    return true;
  }

 private:
  struct Step {
    int64_t x;
    int64_t value;  // level << 24
  };

  static constexpr size_t kTight = 3;

  void add(int64_t x, int64_t level) {
    const int64_t value = level * (int64_t{1} << kFinalShift);
    steps_.push_back({x, value});
    margin_.push_back(static_cast<double>(value) - slope_ * static_cast<double>(x) + (x < 0 ? delay_ : 0.0));
  }

  void to_front(size_t place, std::vector<double>::iterator found) {
    std::swap(steps_[place], steps_[static_cast<size_t>(found - margin_.begin())]);
    std::swap(margin_[place], *found);
  }

  const double slope_;
  const double delay_;
  std::vector<Step> steps_;
  std::vector<double> margin_;
};

int64_t delay_of(const Row& row, const Pair& pair) {
  const double scaled = row.delay * std::ldexp(1.0, kFinalShift + static_cast<int>(pair.shift)) / static_cast<double>(pair.second);
  return static_cast<int64_t>(std::nearbyint(scaled));
}

// What puts every step right; where that is less than what is wanted, also what promises most. Returns how many are right.
size_t proposals(const Row& row, const vta_threshold_limits& limits, std::vector<Candidate>* found) {
  const size_t wanted = static_cast<size_t>(limits.wanted);
  const Steps steps(row);
  RankedPairs pairs(row, limits);
  std::vector<Pair> promising;
  for (Pair pair; found->size() < wanted && pairs.next(&pair);) {
    if (promising.size() < wanted) promising.push_back(pair);
    const int64_t delay = delay_of(row, pair);
    if (limits.parts > 1 && !steps.may_be_met_by(pair, delay)) continue;
    for (int32_t part = 0; part < limits.parts && found->size() < wanted; ++part) {
      const int64_t outer = pair.second * part / limits.parts;
      if (part > 0 && outer == pair.second * (part - 1) / limits.parts) continue;
      if (steps.met_by(pair, outer, delay)) found->push_back({pair.factor, pair.second, pair.shift, outer, 0});
    }
  }
  const size_t exact = found->size();
  for (size_t i = 0; i < promising.size() && found->size() < wanted; ++i) {
    found->push_back({promising[i].factor, promising[i].second, promising[i].shift, 0, 0});
  }
  return exact;
}

}  // namespace
}  // namespace vta::search

using namespace vta::search;

extern "C" void vta_threshold_propose(const vta_thresholds* thresholds, const vta_threshold_limits* limits,
                                      const vta_threshold_offer* offer, const vta_threshold_best* best, uint8_t* exact) {
  std::vector<Candidate> found;
  for (int64_t i = 0; i < offer->count; ++i) {
    const Row row = row_of(*thresholds, offer->row[i]);
    const Best kept(*best, offer->row[i], offer->form);
    found.clear();
    exact[i] = proposals(row, *limits, &found) > 0;
    for (const Candidate& candidate : found) {
      if (kept.done()) break;
      Candidate usable = candidate;
      usable.factor = row.moves() ? std::max(candidate.factor, int64_t{1}) : kStill;
      kept.consider(row, *offer, usable);
    }
  }
}
