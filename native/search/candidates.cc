// What factors are worth: the terms with which they put every step in its place form an interval.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "search/thresholds.h"

namespace vta::search {
namespace {

constexpr int64_t kHalf = int64_t{1} << 31;
constexpr int64_t kNone = -(int64_t{1} << 62);  // the slack of no candidate
constexpr int64_t kAny = int64_t{1} << 60;      // beyond every term

struct Interval {
  int64_t lowest;
  int64_t highest;
};

class Evaluation {
 public:
  Evaluation(const Row& row, int64_t form, const Candidate& candidate) : row_(row), candidate_(candidate), form_(form) {
    double delay = row.delay * std::ldexp(1.0, kFinalShift);
    if (form == VTA_FORM_TWO) delay = delay * std::ldexp(1.0, static_cast<int>(candidate.shift)) / static_cast<double>(candidate.second);
    delay_ = static_cast<int64_t>(std::nearbyint(delay));
  }

  // The terms that put all steps right.
  Interval terms() const {
    if (!row_.moves()) return {-kAny, kAny};
    if (form_ == VTA_FORM_BRANCH || delay_ != 0) return terms_on_both_sides();
    int64_t least = INT64_MAX, most = INT64_MIN;
    const auto meet = [&](int64_t x, int64_t goal) {
      const int64_t below = goal - product(x, candidate_.factor);
      least = std::min(least, below);
      most = std::max(most, below);
    };
    if (form_ == VTA_FORM_ONE) {
      for (int64_t i = 0; i < row_.count; ++i) meet(row_.at[i], level(i));
    } else {
      Goals goals(*this);
      for (int64_t i = 0; i < row_.count; ++i) meet(row_.at[i], goals.next());
    }
    return {most, least + candidate_.factor - 1};
  }

  // The terms for which the last shift leaves an int8 at both ends of x, and nothing before it wraps.
  Interval ends() const {
    const int64_t first = value(row_.first), last = value(row_.last);
    Interval found = {goal(level(-1)) - first, goal(level(row_.count)) - last - 1};
    if (form_ == VTA_FORM_TWO) {
      found = {std::max(found.lowest, -kHalf - first), std::min(found.highest, kHalf - 1 - last)};
    }
    return found;
  }

 private:
  // The goals of consecutive levels, without a division for each.
  class Goals {
   public:
    explicit Goals(const Evaluation& of)
        : second_(of.candidate_.second), scale_(int64_t{1} << of.candidate_.shift) {
      const int64_t value = of.level(0) - of.candidate_.outer;
      quotient_ = divided_up(value, second_);
      missing_ = quotient_ * second_ - value;
      step_ = kStep / second_;
      rest_ = kStep % second_;
    }

    int64_t next() {
      const int64_t found = quotient_ * scale_;
      quotient_ += step_;
      missing_ -= rest_;
      if (missing_ < 0) {
        missing_ += second_;
        ++quotient_;
      }
      return found;
    }

   private:
    static constexpr int64_t kStep = int64_t{1} << kFinalShift;
    const int64_t second_;
    const int64_t scale_;
    int64_t quotient_;
    int64_t missing_;
    int64_t step_;
    int64_t rest_;
  };

  Interval terms_on_both_sides() const {
    Interval found = {INT64_MIN, INT64_MAX};
    for (int64_t i = 0; i < row_.count; ++i) {
      const int64_t needed = goal(level(i));
      found.lowest = std::max(found.lowest, needed - value(row_.at[i]));
      found.highest = std::min(found.highest, needed - value(row_.at[i] - 1) - 1);
    }
    return found;
  }

  // What the last shift makes the level that step `i` reaches.
  int64_t level(int64_t i) const { return (row_.low + 1 + i) * (int64_t{1} << kFinalShift); }

  // The least product that reaches a level.
  int64_t goal(int64_t level) const {
    if (form_ != VTA_FORM_TWO) return level;
    return divided_up(level - candidate_.outer, candidate_.second) * (int64_t{1} << candidate_.shift);
  }

  // The product less its term.
  int64_t value(int64_t x) const {
    int64_t found = product(x, candidate_.factor) - (x < 0 ? delay_ : 0);
    if (form_ == VTA_FORM_BRANCH) {
      found += product((x + row_.least_start) >> candidate_.shift, candidate_.second) >> candidate_.branch_shift;
    }
    return found;
  }

  const Row& row_;
  const Candidate& candidate_;
  const int64_t form_;
  int64_t delay_;
};

}  // namespace

void Best::consider(const Row& row, const vta_threshold_offer& offer, const Candidate& candidate) const {
  const Evaluation evaluation(row, offer.form, candidate);
  const Interval terms = evaluation.terms(), ends = evaluation.ends();
  int64_t lowest = std::max(terms.lowest, ends.lowest), highest = std::min(terms.highest, ends.highest);
  const int64_t slack = ends.lowest <= ends.highest ? highest - lowest : kNone;
  int64_t start = -1;
  if (slack < 0) {
    // Where no term does, one in the middle; the ends must hold in any case, or the last shift would leave more than an int8.
    lowest = highest = std::min(std::max((terms.lowest + terms.highest) >> 1, ends.lowest), ends.highest);
  } else if (!branch_) {
    start = vta_threshold_start(candidate.factor, lowest, highest, row.least_start, row.most_start, offer.wraps);
  }
  const int64_t known = all_.slack[row_];
  if (known >= 0 ? start < 0 || all_.start[row_] >= 0 : slack <= known) return;
  all_.factor[row_] = candidate.factor;
  all_.second[row_] = candidate.second;
  all_.shift[row_] = candidate.shift;
  all_.outer[row_] = candidate.outer;
  all_.branch_shift[row_] = candidate.branch_shift;
  all_.lowest[row_] = lowest;
  all_.highest[row_] = highest;
  all_.slack[row_] = slack;
  all_.start[row_] = start;
}

void Best::settle(const Row& row, const vta_threshold_offer& offer) const {
  if (all_.start[row_] >= 0) return;
  const int64_t factor = all_.factor[row_];
  const Candidate candidate = {factor, all_.second[row_], all_.shift[row_], all_.outer[row_], all_.branch_shift[row_]};
  const Interval ends = Evaluation(row, offer.form, candidate).ends();
  const int64_t lowest = std::max(all_.lowest[row_] - (factor >> 1), ends.lowest);
  const int64_t highest = std::min(all_.highest[row_] + (factor >> 1), ends.highest);
  all_.start[row_] = vta_threshold_start(factor, lowest, highest, row.least_start, row.most_start, offer.wraps);
  all_.slack[row_] = std::min(all_.slack[row_], int64_t{-1});
}

}  // namespace vta::search

using vta::search::Best;
using vta::search::Candidate;
using vta::search::Row;

extern "C" void vta_threshold_consider(const vta_thresholds* thresholds, const vta_threshold_offer* offer,
                                       const vta_threshold_best* best) {
  for (int64_t i = 0; i < offer->count; ++i) {
    const Row row = vta::search::row_of(*thresholds, offer->row[i]);
    const Best kept(*best, offer->row[i], offer->form);
    for (int64_t j = i * offer->tries; j < (i + 1) * offer->tries && !kept.done(); ++j) {
      const Candidate candidate = {offer->factor[j], offer->second[j], offer->shift[j], offer->outer[j], offer->branch_shift[j]};
      kept.consider(row, *offer, candidate);
    }
  }
}

extern "C" void vta_threshold_settle(const vta_thresholds* thresholds, const vta_threshold_offer* offer,
                                     const vta_threshold_best* best) {
  for (int64_t i = 0; i < offer->count; ++i) {
    Best(*best, offer->row[i], offer->form).settle(vta::search::row_of(*thresholds, offer->row[i]), *offer);
  }
}

extern "C" int64_t vta_threshold_start(int64_t factor, int64_t lowest, int64_t highest, int64_t least, int64_t most,
                                       int64_t wraps) {
  constexpr int64_t kWord = int64_t{1} << 32;
  // Of the numbers that are `lowest` modulo 2^32, the last that the product of the least start is not below.
  int64_t goal = lowest - vta::search::divided_up(lowest - factor * least, kWord) * kWord;
  if (wraps < 1 || least > most) return -1;
  if (least * factor - goal <= highest - lowest) return least;
  goal += kWord;
  // From one wrap to the next without a division.
  const int64_t step = kWord / factor, part = kWord % factor;
  int64_t start = vta::search::divided_up(goal, factor), beyond = start * factor - goal;
  for (int64_t wrap = 1; wrap < wraps && start <= most; ++wrap) {
    if (beyond <= highest - lowest) return start;
    start += step;
    beyond -= part;
    if (beyond < 0) {
      beyond += factor;
      ++start;
    }
  }
  return -1;
}
