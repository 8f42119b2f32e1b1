// Loops that every version of the kernels shares. Forced inline, so that each is compiled for its caller's vector unit.
#ifndef VTA_KERNEL_LOOPS_H
#define VTA_KERNEL_LOOPS_H

#include <cstring>

#include "kernels/kernels.h"

#define VTA_INLINE inline __attribute__((always_inline))

namespace vta {

// Internal linkage: each file that includes this compiles it for its own vector unit.
namespace {

template <typename Body>
VTA_INLINE void for_each_uop(const NestPart& part, const Body& body) {
  for (int64_t o = part.out_first; o < part.out_last; ++o) {
    for (int64_t i = part.in_first; i < part.in_last; ++i) {
      const int64_t dst = o * part.dst.outer + i * part.dst.inner;
      const int64_t src = o * part.src.outer + i * part.src.inner;
      const int64_t wgt = o * part.wgt.outer + i * part.wgt.inner;
      for (const Uop *uop = part.uops, *end = part.uops + part.uop_count; uop != end; ++uop) {
        body(dst + uop->dst, src + uop->src, wgt + uop->wgt);
      }
    }
  }
}

// Calls body(dst, src, wgt, first, last) for each run of micro-ops that accumulate into one row, so that the sums of a run can
// stay in registers. The micro-ops' src and wgt are still to be added to the given bases.
template <typename Body>
VTA_INLINE void for_each_run(const NestPart& part, const Body& body) {
  const Uop* end = part.uops + part.uop_count;
  for (int64_t o = part.out_first; o < part.out_last; ++o) {
    for (int64_t i = part.in_first; i < part.in_last; ++i) {
      const int64_t dst = o * part.dst.outer + i * part.dst.inner;
      const int64_t src = o * part.src.outer + i * part.src.inner;
      const int64_t wgt = o * part.wgt.outer + i * part.wgt.inner;
      for (const Uop *first = part.uops, *last; first != end; first = last) {
        last = first + 1;
        while (last != end && last->dst == first->dst) ++last;
        body(dst + first->dst, src, wgt, first, last);
      }
    }
  }
}

// The same for kRows iterations of the inner loop at a time, where these share their weights and add to rows of their own:
// body gets the first one's row. What is left over goes to rest. Sums wrap, so their order does not matter.
template <int kRows, typename Body, typename Rest>
VTA_INLINE void for_each_rows(const NestPart& part, const Body& body, const Rest& rest) {
  NestPart left = part;
  if (part.wgt.inner == 0 && part.dst.inner != 0) {
    left.in_first = part.in_last - (part.in_last - part.in_first) % kRows;
    const Uop* end = part.uops + part.uop_count;
    for (int64_t o = part.out_first; o < part.out_last; ++o) {
      for (int64_t i = part.in_first; i < left.in_first; i += kRows) {
        const int64_t dst = o * part.dst.outer + i * part.dst.inner;
        const int64_t src = o * part.src.outer + i * part.src.inner;
        for (const Uop *first = part.uops, *last; first != end; first = last) {
          last = first + 1;
          while (last != end && last->dst == first->dst) ++last;
          body(dst + first->dst, src, o * part.wgt.outer, first, last);
        }
      }
    }
  }
  for_each_run(left, rest);
}

struct MinOp {
  static VTA_INLINE int32_t apply(int32_t x, int32_t y) { return x < y ? x : y; }
};
struct MaxOp {
  static VTA_INLINE int32_t apply(int32_t x, int32_t y) { return x > y ? x : y; }
};
struct AddOp {
  static VTA_INLINE int32_t apply(int32_t x, int32_t y) {
    return static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
  }
};
struct MulOp {
  static VTA_INLINE int32_t apply(int32_t x, int32_t y) {
    return static_cast<int32_t>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
  }
};
// Amounts from 0 to 31.
struct RightOp {
  static VTA_INLINE int32_t apply(int32_t x, int32_t y) { return x >> y; }
};
struct LeftOp {
  static VTA_INLINE int32_t apply(int32_t x, int32_t y) { return static_cast<int32_t>(static_cast<uint32_t>(x) << y); }
};
// A negative amount shifts left. Amounts past the width shift everything out.
struct ShrOp {
  static VTA_INLINE int32_t apply(int32_t x, int32_t y) {
    const int32_t amount = MaxOp::apply(MinOp::apply(y, 31), -32);
    const int32_t right = x >> MaxOp::apply(amount, 0);
    const auto left = static_cast<int32_t>(static_cast<uint32_t>(x) << (-amount & 31));
    return amount >= 0 ? right : amount == -32 ? 0 : left;
  }
};

template <typename Op, bool kNarrow, int kLanes>
VTA_INLINE void alu_chunk(int32_t* x_row, const int32_t* y_row, int8_t* out) {
  int32_t x[kLanes];
  int32_t y[kLanes];
  std::memcpy(x, x_row, sizeof x);
  std::memcpy(y, y_row, sizeof y);
#pragma GCC unroll 1  // a loop that stays a loop is vectorised
  for (int l = 0; l < kLanes; ++l) {
    const int32_t value = Op::apply(x[l], y[l]);
    x[l] = kNarrow ? static_cast<int16_t>(value) : value;
  }
  std::memcpy(x_row, x, sizeof x);
  for (int l = 0; l < kLanes; ++l) out[l] = static_cast<int8_t>(x[l]);
}

// Calls body(dst, src, rows) for rows that lie beside each other, those of src too if it is used; elsewhere for single ones.
template <typename Body>
VTA_INLINE void for_each_stretch(const NestPart& part, bool use_src, const Body& body) {
  const bool beside = part.uop_count == 1 && part.dst.inner == 1 && (!use_src || part.src.inner == 1);
  if (!beside) {
    for_each_uop(part, [&](int64_t dst, int64_t src, int64_t) __attribute__((always_inline)) { body(dst, src, 1); });
    return;
  }
  for (int64_t o = part.out_first; o < part.out_last; ++o) {
    const int64_t dst = o * part.dst.outer + part.in_first + part.uops->dst, src = o * part.src.outer + part.in_first + part.uops->src;
    body(dst, src, part.in_last - part.in_first);
  }
}

template <typename Op, bool kNarrow, int kLanes>
VTA_INLINE void alu_rows(const AluJob& job) {
  for_each_stretch(job.part, true, [&](int64_t dst, int64_t src, int64_t rows) __attribute__((always_inline)) {
    int32_t* x = job.acc + dst * job.lanes;
    const int32_t* y = job.acc + src * job.lanes;
    int8_t* out = job.out + dst * job.lanes;
    for (int64_t l = 0, end = rows * job.lanes; l < end; l += kLanes) alu_chunk<Op, kNarrow, kLanes>(x + l, y + l, out + l);
  });
}

// The same with one value for all lanes and rows, which stays in a register.
template <typename Op, bool kNarrow, int kLanes>
VTA_INLINE void alu_rows(const AluJob& job, int32_t imm) {
  int32_t same[kLanes];
  for (int32_t& lane : same) lane = imm;
  for_each_stretch(job.part, false, [&](int64_t dst, int64_t, int64_t rows) __attribute__((always_inline)) {
    int32_t* x = job.acc + dst * job.lanes;
    int8_t* out = job.out + dst * job.lanes;
    for (int64_t l = 0, end = rows * job.lanes; l < end; l += kLanes) alu_chunk<Op, kNarrow, kLanes>(x + l, same, out + l);
  });
}

// What a shift by an immediate comes to is known before the loop.
template <bool kNarrow, int kLanes>
VTA_INLINE void shift_rows(const AluJob& job) {
  const int32_t amount = MaxOp::apply(MinOp::apply(job.imm, 31), -32);
  if (amount >= 0) return alu_rows<RightOp, kNarrow, kLanes>(job, amount);
  if (amount > -32) return alu_rows<LeftOp, kNarrow, kLanes>(job, -amount);
  return alu_rows<ShrOp, kNarrow, kLanes>(job, amount);
}

template <typename Op, bool kNarrow, int kLanes>
VTA_INLINE void alu_either(const AluJob& job) {
  if (job.use_imm) return alu_rows<Op, kNarrow, kLanes>(job, job.imm);
  return alu_rows<Op, kNarrow, kLanes>(job);
}

template <bool kNarrow, int kLanes>
VTA_INLINE void alu_any(const AluJob& job) {
  switch (job.op) {
    case AluOp::kMin:
      return alu_either<MinOp, kNarrow, kLanes>(job);
    case AluOp::kMax:
      return alu_either<MaxOp, kNarrow, kLanes>(job);
    case AluOp::kAdd:
      return alu_either<AddOp, kNarrow, kLanes>(job);
    case AluOp::kShr:
      return job.use_imm ? shift_rows<kNarrow, kLanes>(job) : alu_rows<ShrOp, kNarrow, kLanes>(job);
    case AluOp::kMul:
      return alu_either<MulOp, kNarrow, kLanes>(job);
    case AluOp::kRequantize:
      return;  // not of these kernels
  }
}

template <bool kNarrow>
VTA_INLINE void alu_job(const AluJob& job) {
  if (job.lanes % 16 == 0) {
    alu_any<kNarrow, 16>(job);
  } else {
    alu_any<kNarrow, 4>(job);
  }
}

}  // namespace

}  // namespace vta

#endif
