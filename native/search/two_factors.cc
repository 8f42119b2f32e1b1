// Looks for two factors of thresholds, those that promise most first.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "search/promising_pairs.h"
#include "search/thresholds.h"

namespace vta::search {
namespace {

constexpr int64_t kStill = (int64_t{1} << 16) + 1;  // the factor of what never moves: one that finds a start soon

// A second factor and a middle shift, with the first factor that comes nearest to the slope.
struct Pair {
  int64_t factor;
  int64_t second;
  int64_t shift;
};

// Where a pair stands among those of all shifts, and what it promises.
struct Place {
  double off;  // what a step may be off, in units of x
  uint32_t shift;
  uint32_t at;

  bool operator<(const Place& other) const {
    return off != other.off ? off < other.off : (shift != other.shift ? shift < other.shift : at < other.at);
  }
};

constexpr double power_of_two(uint32_t exponent) { return static_cast<double>(int64_t{1} << exponent); }

constexpr size_t kLanes = 2;  // what every x86-64 has
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));

// The pairs of one middle shift, by their place from the second factor 1 << shift on.
class PairsOfShift {
 public:
  PairsOfShift(double slope, double width, uint32_t shift)
      : width_(width), dropped_(power_of_two(shift)), scaled_(slope * power_of_two(kFinalShift + shift)), shift_(shift) {}

  size_t count() const { return size_t{1} << shift_; }

  // What the pairs of a block may be off.
  void offs(size_t block, double* found) const {
    for (size_t i = 0; i < kPairBlock; i += kLanes) {
      const Near near = near_at(block + i);
      const Lanes away = near.above < Lanes{} ? -near.above : near.above;
      const Lanes off = away / near.ideal * width_ + dropped_ / near.factor;
      std::memcpy(found + i, &off, sizeof(off));
    }
  }

  // The same, to pass over those that are off by too much.
  PairsOfOneShift bounds() const { return {scaled_, width_, dropped_}; }

  Pair pair(uint32_t place) const {
    const int64_t second = static_cast<int64_t>(count() + place);
    const int64_t nearest = static_cast<int64_t>(scaled_ / static_cast<double>(second) + 0.5);
    return {std::max(nearest, int64_t{1}), second, shift_};
  }

 private:
  struct Near {
    Lanes second;
    Lanes ideal;
    Lanes factor;  // nearest to the ideal
    Lanes above;   // by how much it is larger
  };

  Near near_at(size_t place) const {
    // What is added to 2^52 is rounded: `ideal` is far below it.
    const Lanes one = Lanes{} + 1.0, whole = Lanes{} + 4503599627370496.0;
    const Lanes second = dropped_ + static_cast<double>(place) + Lanes{0.0, 1.0};
    const Lanes ideal = scaled_ / second, up = ideal + 0.5, rounded = (up + whole) - whole;
    const Lanes below = rounded > up ? rounded - one : rounded, factor = below < one ? one : below;
    return {second, ideal, factor, factor - ideal};
  }

  const double width_;
  const double dropped_;
  const double scaled_;
  const uint32_t shift_;
};

// Buffers that the rows of one search share.
struct Room {
  std::vector<Place> places;
  std::vector<double> inverse;  // of second factors
};

// Pairs, those that promise most first: a few of them are often enough, so that the others are ranked late.
class RankedPairs {
 public:
  RankedPairs(const Row& row, const vta_threshold_limits& limits, Room* room)
      : slope_(row.slope),
        width_(static_cast<double>(row.last - row.first)),
        least_shift_(static_cast<uint32_t>(limits.least_shift)),
        last_shift_(static_cast<uint32_t>(limits.most_shift)),
        most_(static_cast<size_t>(limits.pairs)),
        few_(std::min(most_, std::max(kFew, static_cast<size_t>(limits.wanted)))),
        room_(*room) {
    if (room_.inverse.empty()) room_.inverse = inverses_up_to(limits.most_shift);
    room_.places.clear();
    for (uint32_t shift = least_shift_; shift <= last_shift_; ++shift) {
      if (room_.places.size() < few_ || least_off(shift) < room_.places.back().off) keep_few(shift);
    }
    first_ = room_.places.size();
  }

  // How many pairs come first.
  size_t first() const { return first_; }

  Pair pair(size_t place) const { return pair(room_.places[place]); }

  // Puts what comes after them in order, of that only the pairs that are `wanted`. Returns up to where they are.
  template <typename Wanted>
  size_t rest(const Wanted& wanted) {
    if (most_ == few_) return first_;
    room_.places.clear();
    for (uint32_t shift = least_shift_; shift <= last_shift_; ++shift) keep_all(shift);
    const size_t end = std::min(most_, room_.places.size());
    part(0, first_);
    std::sort(begin(), begin() + static_cast<std::ptrdiff_t>(first_));
    part(first_, end);
    const auto from = begin() + static_cast<std::ptrdiff_t>(first_);
    const auto to = std::remove_if(from, begin() + static_cast<std::ptrdiff_t>(end), [&](const Place& place) { return !wanted(pair(place)); });
    std::sort(from, to);
    return static_cast<size_t>(to - begin());
  }

 private:
  static constexpr size_t kFew = 64;

  std::vector<Place>::iterator begin() const { return room_.places.begin(); }

  // Brings the first `end` before the others, where those up to `from` are.
  void part(size_t from, size_t end) const {
    if (from >= end || end >= room_.places.size()) return;
    std::nth_element(begin() + static_cast<std::ptrdiff_t>(from), begin() + static_cast<std::ptrdiff_t>(end), room_.places.end());
  }

  Pair pair(const Place& place) const { return PairsOfShift(slope_, width_, place.shift).pair(place.at); }

  // What no pair of a shift is below: the middle shift alone drops as much.
  double least_off(uint32_t shift) const {
    constexpr double kRounding = 1.0 - 1e-9;
    return power_of_two(shift) / (slope_ * power_of_two(kFinalShift) + 1.0) * kRounding;
  }

  void keep_all(uint32_t shift) const {
    const PairsOfShift pairs(slope_, width_, shift);
    double off[kPairBlock];
    for (size_t block = 0; block < pairs.count(); block += kPairBlock) {
      pairs.offs(block, off);
      for (size_t i = 0; i < kPairBlock; ++i) room_.places.push_back({off[i], shift, static_cast<uint32_t>(block + i)});
    }
  }

  // Keeps as many as are to be told, in order.
  void keep_few(uint32_t shift) const {
    const PairsOfShift pairs(slope_, width_, shift);
    const size_t blocks = pairs.count() / kPairBlock;
    std::vector<Place>& few = room_.places;
    double off[kPairBlock];
    for (size_t block = 0; block < blocks; ++block) {
      if (few.size() == few_) {
        block = next_promising_block(pairs.bounds(), room_.inverse.data() + pairs.count(), few.back().off, block, blocks);
        if (block == blocks) break;
      }
      pairs.offs(block * kPairBlock, off);
      for (size_t i = 0; i < kPairBlock; ++i) keep(off[i], shift, static_cast<uint32_t>(block * kPairBlock + i));
    }
  }

  void keep(double off, uint32_t shift, uint32_t at) const {
    std::vector<Place>& few = room_.places;
    size_t place = few.size();
    if (place < few_) {
      few.emplace_back();
    } else if (off < few.back().off) {
      --place;
    } else {
      return;
    }
    for (; place > 0 && off < few[place - 1].off; --place) few[place] = few[place - 1];
    few[place] = {off, shift, at};
  }

  const double slope_;
  const double width_;
  const uint32_t least_shift_;
  const uint32_t last_shift_;
  const size_t most_;
  const size_t few_;
  Room& room_;
  size_t first_;
};

// The least product, before its shift, of which the second factor makes `value`. Doubles hold both exactly, and no quotient is so
// near to an integer that it is rounded to it: they differ by a part of the second factor at least.
int64_t reaching(int64_t value, const Pair& pair) {
  const double quotient = static_cast<double>(value) / static_cast<double>(pair.second);
  const int64_t whole = static_cast<int64_t>(quotient);
  return (whole + (static_cast<double>(whole) < quotient ? 1 : 0)) * (int64_t{1} << pair.shift);
}

// The steps, some of those that leave the least room on either side first: with them most candidates fail at once.
class Steps {
 public:
  explicit Steps(const Row& row) {
    const double slope = row.slope * power_of_two(kFinalShift), delay = row.delay * power_of_two(kFinalShift);
    const bool stands_in = !row.moves() && row.stand_in != nullptr;
    const int64_t* at = stands_in ? row.stand_in : row.at;
    const int64_t count = stands_in ? 1 : row.count, low = stands_in ? row.stand_in_level : row.low + 1;
    steps_.resize(kTight + static_cast<size_t>(count));
    Extremes least, most;
    for (int64_t i = 0; i < count; ++i) {
      const Step step = {at[i], (low + i) * (int64_t{1} << kFinalShift)};
      steps_[kTight + static_cast<size_t>(i)] = step;
      const double margin = static_cast<double>(step.value) - slope * static_cast<double>(step.x) + (step.x < 0 ? delay : 0.0);
      least.take(margin, step);
      most.take(-margin, step);
    }
    if (count == 0) steps_.clear();
    for (size_t i = 0; count > 0 && i < kTight; ++i) steps_[i] = (i % 2 == 0 ? least : most).step[i / 2];
  }

  // Whether some term may put every step right, with an outer term for each that suits it best.
  bool may_be_met_by(const Pair& pair, int64_t delay) const {
    const int64_t dropped = int64_t{1} << pair.shift;
    return some_term(pair, delay, [&](const Step& step) {
      const int64_t most = reaching(step.value, pair);
      return Goals{most - dropped, most};
    });
  }

  // Whether some term puts every step right.
  bool met_by(const Pair& pair, int64_t outer, int64_t delay) const {
    return some_term(pair, delay, [&](const Step& step) {
      const int64_t goal = reaching(step.value - outer, pair);
      return Goals{goal, goal};
    });
  }

 private:
  struct Step {
    int64_t x;
    int64_t value;  // level << 24
  };

  // The least that a product must reach, and the most that it must.
  struct Goals {
    int64_t least;
    int64_t most;
  };

  static constexpr size_t kTight = 6;

  // The steps of the least margins.
  struct Extremes {
    static constexpr size_t kCount = kTight / 2;
    double margin[kCount] = {kFar, kFar, kFar};
    Step step[kCount];

    void take(double found, const Step& at) {
      if (margin[0] == kFar) std::fill(step, step + kCount, at);
      if (found >= margin[kCount - 1]) return;
      size_t i = kCount - 1;
      for (; i > 0 && found < margin[i - 1]; --i) {
        margin[i] = margin[i - 1];
        step[i] = step[i - 1];
      }
      margin[i] = found;
      step[i] = at;
    }

    static constexpr double kFar = std::numeric_limits<double>::infinity();
  };

  template <typename GoalsOf>
  bool some_term(const Pair& pair, int64_t delay, const GoalsOf& goals_of) const {
    int64_t lowest = std::numeric_limits<int64_t>::min(), highest = std::numeric_limits<int64_t>::max();
    for (const Step& step : steps_) {
      const Goals goals = goals_of(step);
      const int64_t reached = product(step.x, pair.factor);
      lowest = std::max(lowest, goals.least - reached + (step.x < 0 ? delay : 0));
      highest = std::min(highest, goals.most - (reached - pair.factor) + (step.x - 1 < 0 ? delay : 0) - 1);
      if (lowest > highest) return false;
    }
    return true;
  }

  std::vector<Step> steps_;
};

int64_t delay_of(const Row& row, const Pair& pair) {
  if (row.delay == 0.0) return 0;
  const double scaled = row.delay * power_of_two(kFinalShift + static_cast<uint32_t>(pair.shift)) / static_cast<double>(pair.second);
  return static_cast<int64_t>(std::nearbyint(scaled));
}

// Tells `take` what puts every step right, as much as is wanted or until it wants no more; where that is less than what is wanted,
// also what promises most. Returns whether anything is right.
template <typename Take>
bool propose(const Row& row, const vta_threshold_limits& limits, Room* room, const Take& take) {
  const Steps steps(row);
  RankedPairs pairs(row, limits, room);
  int64_t left = limits.wanted;
  bool goes_on = true;
  const auto may_do = [&](const Pair& pair) {
    const int64_t delay = delay_of(row, pair);
    return limits.parts > 1 ? steps.may_be_met_by(pair, delay) : steps.met_by(pair, 0, delay);
  };
  const auto tell = [&](const Pair& pair) {
    const int64_t delay = delay_of(row, pair);
    for (int32_t part = 0; part < limits.parts && left > 0 && goes_on; ++part) {
      const int64_t outer = pair.second * part / limits.parts;
      if (part > 0 && outer == pair.second * (part - 1) / limits.parts) continue;
      if (limits.parts > 1 && !steps.met_by(pair, outer, delay)) continue;
      goes_on = take({pair.factor, pair.second, pair.shift, outer, 0});
      --left;
    }
  };
  for (size_t i = 0; i < pairs.first() && left > 0 && goes_on; ++i) {
    const Pair pair = pairs.pair(i);
    if (may_do(pair)) tell(pair);
  }
  if (left > 0 && goes_on) {
    const size_t end = pairs.rest(may_do);
    for (size_t i = pairs.first(); i < end && left > 0 && goes_on; ++i) tell(pairs.pair(i));
  }
  const bool exact = left < limits.wanted;
  for (size_t i = 0; i < pairs.first() && left > 0 && goes_on; ++i, --left) {
    const Pair pair = pairs.pair(i);
    goes_on = take({pair.factor, pair.second, pair.shift, 0, 0});
  }
  return exact;
}

}  // namespace
}  // namespace vta::search

using namespace vta::search;

extern "C" void vta_threshold_propose(const vta_thresholds* thresholds, const vta_threshold_limits* limits,
                                      const vta_threshold_offer* offer, const vta_threshold_best* best, uint8_t* exact) {
  Room room;
  for (int64_t i = 0; i < offer->count; ++i) {
    const Row row = row_of(*thresholds, offer->row[i]);
    const Best kept(*best, offer->row[i], offer->form);
    // What is known already may do; then it is only asked whether anything is right.
    exact[i] = propose(row, *limits, &room, [&](Candidate candidate) {
      if (kept.done()) return false;
      candidate.factor = row.moves() ? std::max(candidate.factor, int64_t{1}) : kStill;
      kept.consider(row, *offer, candidate);
      return !kept.done();
    });
  }
}
