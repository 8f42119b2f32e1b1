// Where each level of a rounding is reached.

#include <algorithm>
#include <cstdint>

#include "vta_thresholds.h"

namespace {

constexpr int64_t kNever = int64_t{1} << 40;        // beyond every int32
constexpr int64_t kWidest = (int64_t{1} << 31) + 1;  // no doubled high product reaches this
constexpr int64_t kRoom = 62 - 9;                    // by as much a level can be shifted

// The doubled high product from which on a level is reached: halves go away from zero, so that a level at or below zero is
// reached only just above the half.
int64_t high_product(int64_t level, int64_t shift) {
  if (shift == 0) return std::min(std::max(level, -kWidest), kWidest);
  if (shift > kRoom) return level > 0 ? kWidest : -kWidest;
  const int64_t high = level * (int64_t{1} << shift) - (int64_t{1} << (shift - 1)) + (level <= 0 ? 1 : 0);
  return std::min(std::max(high, -kWidest), kWidest);
}

struct Quotient {
  int64_t whole;
  int64_t rest;  // from 0 to before the divisor
};

Quotient divided_down(int64_t value, int64_t divisor) {
  const int64_t whole = value / divisor, rest = value % divisor;
  return rest < 0 ? Quotient{whole - 1, rest + divisor} : Quotient{whole, rest};
}

// The least x for high products that come one after the other, mostly by the same distance: without a division for each.
class LeastProduct {
 public:
  explicit LeastProduct(int64_t factor) : factor_(factor) {}

  int64_t reaching(int64_t high) {
    if (factor_ == 0) return high <= 0 ? -kNever : kNever;
    const int64_t distance = high - high_;
    if (!started_ || distance < 0 || distance > kFar) {
      // The least x with x * factor >= high * 2^31 - 2^30.
      at_ = divided_down(high * (int64_t{1} << 31) - (int64_t{1} << 30) + factor_ - 1, factor_);
      started_ = true;
    } else {
      if (distance != distance_) step_ = divided_down(distance * (int64_t{1} << 31), factor_);
      distance_ = distance;
      at_.whole += step_.whole;
      at_.rest += step_.rest;
      if (at_.rest >= factor_) {
        at_.rest -= factor_;
        ++at_.whole;
      }
    }
    high_ = high;
    return at_.whole;
  }

 private:
  static constexpr int64_t kFar = int64_t{1} << 31;
  const int64_t factor_;
  bool started_ = false;
  int64_t high_ = 0;
  int64_t distance_ = 0;
  Quotient step_ = {0, 0};
  Quotient at_ = {0, 0};
};

}  // namespace

extern "C" void vta_requantized_steps(const int64_t* levels, int64_t count, const int64_t* multiplier, const int64_t* exponent,
                                      int64_t rows, int64_t* at) {
  for (int64_t row = 0; row < rows; ++row, at += count) {
    LeastProduct least(multiplier[row]);
    const int64_t right = std::max(-exponent[row], int64_t{0}), left = std::max(exponent[row], int64_t{0});
    for (int64_t i = 0; i < count; ++i) at[i] = -(-least.reaching(high_product(levels[i], right)) >> left);
  }
}

extern "C" void vta_threshold_ends(int64_t* at, int64_t count, const int64_t* least, const int64_t* most, int64_t rows,
                                   int64_t* begin, int64_t* end) {
  for (int64_t row = 0; row < rows; ++row, at += count) {
    const int64_t low = least[row], high = most[row];
    begin[row] = std::upper_bound(at, at + count, low) - at;
    end[row] = std::upper_bound(at, at + count, high) - at;
    std::fill(at, at + begin[row], low);
    std::fill(at + std::max(begin[row], end[row]), at + count, high + 1);
  }
}
