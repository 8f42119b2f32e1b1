#pragma once

#include <cstddef>
#include <vector>

namespace vta::search {

constexpr size_t kPairBlock = 8;  // pairs that are looked at together; the least middle shift has as many

// The pairs of one middle shift: second factors from `dropped`, the power of two that it drops, on.
struct PairsOfOneShift {
  double scaled;  // the ratio, as the product of both factors stands for it
  double width;   // of the interval of x that matters
  double dropped;
};

// The inverses of all second factors up to those of a middle shift.
std::vector<double> inverses_up_to(int most_shift);

// The first of `blocks` from `from` on of which a pair may be off by less than `limit`; that none before it is, is sure. `inverse`
// holds those of the second factors from `dropped` on.
size_t next_promising_block(const PairsOfOneShift& pairs, const double* inverse, double limit, size_t from, size_t blocks);

}  // namespace vta::search
