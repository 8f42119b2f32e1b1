// Plain C++ for any processor.
#include <cstring>

#include "kernels/chain.h"
#include "kernels/loops.h"

namespace vta {

namespace {

// INP row: [BATCH][BLOCK] of int16. Compilers turn products of int16 into vector code everywhere.
void pack_inp(const Geometry& geometry, const uint8_t* elements, int64_t rows, uint8_t* packed) {
  const int64_t count = rows * geometry.lanes();
  for (int64_t i = 0; i < count; ++i) {
    const int16_t value = static_cast<int8_t>(elements[i]);
    std::memcpy(packed + 2 * i, &value, sizeof value);
  }
}

// WGT row: [BLOCK][column] of int16, so that one input scalar meets a vector of columns.
template <int kBlock>
void pack_wgt(const Geometry&, const uint8_t* elements, int64_t rows, uint8_t* packed) {
  for (int64_t row = 0; row < rows; ++row) {
    int16_t columns[kBlock][kBlock];
    for (int c = 0; c < kBlock; ++c) {
      for (int k = 0; k < kBlock; ++k) columns[k][c] = static_cast<int8_t>(elements[c * kBlock + k]);
    }
    std::memcpy(packed, columns, sizeof columns);
    elements += kBlock * kBlock;
    packed += sizeof columns;
  }
}

template <int kBlock, bool kNarrow>
void gemm(const GemmJob& job) {
  const int64_t lanes = int64_t{job.batch} * kBlock;
  for_each_run(job.part, [&](int64_t dst, int64_t src, int64_t wgt, const Uop* first, const Uop* last) {
    for (int b = 0; b < job.batch; ++b) {
      const int64_t lane = dst * lanes + b * kBlock;
      uint32_t sums[kBlock];
      std::memcpy(sums, job.acc + lane, sizeof sums);
      for (const Uop* uop = first; uop != last; ++uop) {
        const uint8_t* inp = job.inp + ((src + uop->src) * lanes + b * kBlock) * 2;
        const uint8_t* weights = job.wgt + (wgt + uop->wgt) * kBlock * kBlock * 2;
        for (int k = 0; k < kBlock; ++k, inp += sizeof(int16_t), weights += kBlock * sizeof(int16_t)) {
          int16_t scalar;
          int16_t columns[kBlock];
          std::memcpy(&scalar, inp, sizeof scalar);
          std::memcpy(columns, weights, sizeof columns);
#pragma GCC unroll 1  // a loop that stays a loop is vectorised
          for (int c = 0; c < kBlock; ++c) sums[c] += static_cast<uint32_t>(int32_t{scalar} * columns[c]);
        }
      }
      for (int c = 0; c < kBlock; ++c) {
        const auto sum = static_cast<int32_t>(sums[c]);
        job.acc[lane + c] = kNarrow ? static_cast<int16_t>(sum) : sum;
      }
      if (job.out == nullptr) continue;
      for (int c = 0; c < kBlock; ++c) job.out[lane + c] = static_cast<int8_t>(sums[c]);
    }
  });
}

template <bool kNarrow>
void alu(const AluJob& job) {
  alu_job<kNarrow>(job);
}

template <bool kNarrow>
void chain(const ChainJob& job) {
  chain_job<16, kNarrow>(job);
}

template <int kBlock>
Kernels kernels_of(const Geometry& geometry) {
  const bool narrow = geometry.narrow_acc();
  return {"portable",
          2 * geometry.elem_bytes(Memory::kInp),
          2 * geometry.elem_bytes(Memory::kWgt),
          pack_inp,
          pack_wgt<kBlock>,
          narrow ? gemm<kBlock, true> : gemm<kBlock, false>,
          narrow ? alu<true> : alu<false>,
          narrow ? chain<true> : chain<false>};
}

}  // namespace

Kernels portable_kernels(const Geometry& geometry) {
  switch (geometry.block) {
    case 4:
      return kernels_of<4>(geometry);
    case 8:
      return kernels_of<8>(geometry);
    case 16:
      return kernels_of<16>(geometry);
    case 32:
      return kernels_of<32>(geometry);
    default:
      return kernels_of<64>(geometry);
  }
}

}  // namespace vta
