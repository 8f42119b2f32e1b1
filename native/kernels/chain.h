// Chains of ALU operations: several rows at a time stay in registers from the first operation to the last. Forced inline like loops.h.
#ifndef VTA_KERNEL_CHAIN_H
#define VTA_KERNEL_CHAIN_H

#include <cstring>

#include "kernels/kernels.h"
#include "kernels/loops.h"

namespace vta {

namespace {

constexpr int kChainRows = 8;

// Lanes of one row, in a vector of so many bytes.
template <int kBytes>
struct ChainLanes {
  typedef int32_t Signed __attribute__((vector_size(kBytes)));
  typedef uint32_t Unsigned __attribute__((vector_size(kBytes)));
  typedef int8_t Narrow __attribute__((vector_size(kBytes / 4)));
};

// kRows rows at even distances. kStep: that of rows beside each other in lanes, which compilers put into addresses; 0: not known.
template <int kBytes, int kRows, int kStep>
struct ChainStrip {
  using Signed = typename ChainLanes<kBytes>::Signed;
  using Unsigned = typename ChainLanes<kBytes>::Unsigned;

  Signed rows[kRows];

  template <typename Body>
  VTA_INLINE void each_with(const Signed& operand, const Body& body) {
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) body(rows[row], operand);
  }

  template <typename Body>
  VTA_INLINE void each_with(const int32_t* from, int64_t step, const Body& body) {
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      Signed operand;
      std::memcpy(&operand, from + row * step, sizeof operand);
      body(rows[row], operand);
    }
  }

  // body(row, operand) for each row, with an immediate or the lanes of rows at `from`.
  template <typename Body>
  VTA_INLINE void each(const ChainLink& link, const int32_t* from, int64_t step, const Body& body) {
    if (!link.use_src) return each_with(Signed{} + link.imm, body);
    if (step == 0) return each_with(load(from), body);
    if (kStep != 0 && step == kStep) return each_with(from, kStep, body);
    each_with(from, step, body);
  }

  static VTA_INLINE Signed load(const int32_t* from) {
    Signed lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
  }

  // As ShrOp of loops.h.
  static VTA_INLINE void shift(Signed& x, const Signed& by) {
    const Signed most = Signed{} + 31, least = Signed{} - 32, zero = Signed{};
    const Signed high = by < most ? by : most, amount = high > least ? high : least;
    const Signed right = x >> (amount > zero ? amount : zero);
    const Signed left = reinterpret_cast<Signed>(reinterpret_cast<Unsigned>(x) << reinterpret_cast<Unsigned>(-amount & most));
    x = amount >= zero ? right : amount == least ? zero : left;
  }

  // `right`: whether a shift by one row is by amounts from 0 to 31.
  VTA_INLINE void apply(const ChainLink& link, const int32_t* from, int64_t step, bool right) {
    switch (link.op) {
      case ChainOp::kFill:
        return each(link, from, step, [](Signed& x, const Signed& y) __attribute__((always_inline)) { x = y; });
      case ChainOp::kMin:
        return each(link, from, step, [](Signed& x, const Signed& y) __attribute__((always_inline)) { x = x < y ? x : y; });
      case ChainOp::kMax:
        return each(link, from, step, [](Signed& x, const Signed& y) __attribute__((always_inline)) { x = x > y ? x : y; });
      case ChainOp::kAdd:
        return each(link, from, step, [](Signed& x, const Signed& y) __attribute__((always_inline)) {
          x = reinterpret_cast<Signed>(reinterpret_cast<Unsigned>(x) + reinterpret_cast<Unsigned>(y));
        });
      case ChainOp::kMul:
        return each(link, from, step, [](Signed& x, const Signed& y) __attribute__((always_inline)) {
          x = reinterpret_cast<Signed>(reinterpret_cast<Unsigned>(x) * reinterpret_cast<Unsigned>(y));
        });
      case ChainOp::kRight:
        return each(link, from, step, [](Signed& x, const Signed& y) __attribute__((always_inline)) { x >>= y; });
      case ChainOp::kLeft:
        return each(link, from, step, [](Signed& x, const Signed& y) __attribute__((always_inline)) {
          x = reinterpret_cast<Signed>(reinterpret_cast<Unsigned>(x) << reinterpret_cast<Unsigned>(y));
        });
      case ChainOp::kShr:
        if (right) {
          return each_with(load(from), [](Signed& x, const Signed& y) __attribute__((always_inline)) { x >>= y; });
        }
        return each(link, from, step, [](Signed& x, const Signed& y) __attribute__((always_inline)) { shift(x, y); });
    }
  }

  VTA_INLINE void wrap16() {
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      rows[row] = reinterpret_cast<Signed>(reinterpret_cast<Unsigned>(rows[row]) << 16) >> 16;
    }
  }
};

// A bit for each of the first 64 links: whether it shifts by one row for all of an inner loop, by amounts from 0 to 31.
VTA_INLINE uint64_t right_shifts(const ChainJob& job, int64_t o) {
  uint64_t found = 0;
  for (int64_t at = 0; at < job.count && at < 64; ++at) {
    const ChainLink& link = job.links[at];
    if (link.op != ChainOp::kShr || link.factors.inner != 0) continue;
    const int32_t* amounts = job.acc + (link.src + o * link.factors.outer) * job.lanes;
    int32_t bits = 0;
    for (int64_t lane = 0; lane < job.lanes; ++lane) bits |= amounts[lane];
    if ((bits & ~31) == 0) found |= uint64_t{1} << at;
  }
  return found;
}

// kRows iterations of the inner loop from (o, i) on.
template <int kBytes, int kRows, int kStep, bool kNarrow>
VTA_INLINE void chain_strip(const ChainJob& job, int64_t o, int64_t i, uint64_t right) {
  const int64_t lanes = kStep != 0 ? kStep : job.lanes;
  const int64_t first = (job.dst + o * job.factors.outer + i * job.factors.inner) * lanes;
  const int64_t step = kStep != 0 ? kStep : job.factors.inner * lanes;
  for (int64_t l = 0; l < lanes; l += kBytes / 4) {
    ChainStrip<kBytes, kRows, kStep> strip{};
    int32_t* acc = job.acc + first + l;
    if (job.links->op != ChainOp::kFill) {
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) std::memcpy(&strip.rows[row], acc + row * step, kBytes);
    }
    uint64_t rights = right;
    for (const ChainLink *link = job.links, *end = link + job.count; link != end; ++link, rights >>= 1) {
      const int64_t from = link->src + o * link->factors.outer + i * link->factors.inner;
      strip.apply(*link, job.acc + from * lanes + l, link->factors.inner * lanes, (rights & 1) != 0);
      if (kNarrow) strip.wrap16();
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) std::memcpy(acc + row * step, &strip.rows[row], kBytes);
    if (job.out == nullptr) continue;
    int8_t* out = job.out + first + l;
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const auto bytes = __builtin_convertvector(strip.rows[row], typename ChainLanes<kBytes>::Narrow);
      std::memcpy(out + row * step, &bytes, kBytes / 4);
    }
  }
}

template <int kBytes, int kStep, bool kNarrow>
VTA_INLINE void chain_rows(const ChainJob& job) {
  const int64_t whole = job.iter_in - job.iter_in % kChainRows;
  for (int64_t o = 0; o < job.iter_out; ++o) {
    const uint64_t right = right_shifts(job, o);
    for (int64_t i = 0; i < whole; i += kChainRows) chain_strip<kBytes, kChainRows, kStep, kNarrow>(job, o, i, right);
    for (int64_t i = whole; i < job.iter_in; ++i) chain_strip<kBytes, 1, kStep, kNarrow>(job, o, i, right);
  }
}

// Rows of 16 lanes beside each other have a loop of their own.
template <int kBytes, bool kNarrow>
VTA_INLINE void chain_job(const ChainJob& job) {
  if (job.lanes == kChainLanes && job.factors.inner == 1) return chain_rows<kBytes, kChainLanes, kNarrow>(job);
  chain_rows<kBytes, 0, kNarrow>(job);
}

}  // namespace

}  // namespace vta

#endif
