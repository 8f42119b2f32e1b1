// Passes over pairs of factors that are off by too much: most are, so that this is what a search takes its time for.

#include "search/promising_pairs.h"

#include <algorithm>
#include <cstring>

namespace vta::search {
namespace {

constexpr size_t kLanes = 4;
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));

// With u the inverse of the ideal factor, the inverse of the nearest one is at least u * (1 - away * u), away being how far they are
// apart: no division is needed. The ideal factor is off by its last two bits at most, which moves a step by `kUnsure` of the width.
// Forced inline, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline size_t next_block(const PairsOfOneShift& pairs, const double* inverse, double limit, size_t from,
                                                        size_t blocks) {
  constexpr double kRounding = 1.0 - 1e-9, kUnsure = 1e-15;
  constexpr double kWhole = 4503599627370496.0;  // what is added to it is rounded, as far as it is below
  const double least = (limit + kUnsure * pairs.width) / kRounding, one = 1.0 / pairs.scaled;
  const Lanes whole = Lanes{} + kWhole, counted = {0.0, 1.0, 2.0, 3.0};
  for (size_t block = from; block < blocks; ++block) {
    Lanes lowest = Lanes{} + least;
    for (size_t i = block * kPairBlock; i < (block + 1) * kPairBlock; i += kLanes) {
      Lanes ideal;
      std::memcpy(&ideal, inverse + i, sizeof(ideal));
      ideal *= pairs.scaled;
      const Lanes by_one = (counted + (pairs.dropped + static_cast<double>(i))) * one, above = ((ideal + whole) - whole) - ideal;
      const Lanes away = above < Lanes{} ? -above : above;
      const Lanes off = by_one * (away * pairs.width + pairs.dropped * (1.0 - away * by_one));
      lowest = off < lowest ? off : lowest;
    }
    if (std::min(std::min(lowest[0], lowest[1]), std::min(lowest[2], lowest[3])) < least) return block;
  }
  return blocks;
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) size_t next_block_avx2(const PairsOfOneShift& pairs, const double* inverse, double limit, size_t from,
                                                       size_t blocks) {
  return next_block(pairs, inverse, limit, from, blocks);
}

bool has_avx2() { return __builtin_cpu_supports("avx2"); }

#else

size_t next_block_avx2(const PairsOfOneShift& pairs, const double* inverse, double limit, size_t from, size_t blocks) {
  return next_block(pairs, inverse, limit, from, blocks);
}

bool has_avx2() { return false; }

#endif

}  // namespace

std::vector<double> inverses_up_to(int most_shift) {
  std::vector<double> found(size_t{2} << most_shift);
  for (size_t second = 1; second < found.size(); ++second) found[second] = 1.0 / static_cast<double>(second);
  return found;
}

size_t next_promising_block(const PairsOfOneShift& pairs, const double* inverse, double limit, size_t from, size_t blocks) {
  static const bool wide = has_avx2();
  return (wide ? next_block_avx2 : next_block)(pairs, inverse, limit, from, blocks);
}

}  // namespace vta::search
