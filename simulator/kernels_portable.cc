// Plain C++ for any processor.
#include <cstring>

#include "kernel_loops.h"

namespace vta {

namespace {

void copy_inp(const Geometry& geometry, const uint8_t* elements, int64_t rows, uint8_t* packed) {
  std::memcpy(packed, elements, static_cast<size_t>(rows * geometry.elem_bytes(Memory::kInp)));
}

void copy_wgt(const Geometry& geometry, const uint8_t* elements, int64_t rows, uint8_t* packed) {
  std::memcpy(packed, elements, static_cast<size_t>(rows * geometry.elem_bytes(Memory::kWgt)));
}

template <int kBlock, bool kNarrow>
void gemm(const GemmJob& job) {
  const int64_t lanes = int64_t{job.batch} * kBlock;
  for_each_uop(job.part, [&](int64_t dst, int64_t src, int64_t wgt) {
    const auto* inp = reinterpret_cast<const int8_t*>(job.inp) + src * lanes;
    const auto* weights = reinterpret_cast<const int8_t*>(job.wgt) + wgt * kBlock * kBlock;
    int32_t* acc = job.acc + dst * lanes;
    int8_t* out = job.out + dst * lanes;
    for (int b = 0; b < job.batch; ++b) {
      for (int c = 0; c < kBlock; ++c) {
        int32_t dot = 0;
        for (int k = 0; k < kBlock; ++k) dot += inp[b * kBlock + k] * weights[c * kBlock + k];
        const int32_t sum = AddOp::apply(acc[b * kBlock + c], dot);
        acc[b * kBlock + c] = kNarrow ? static_cast<int16_t>(sum) : sum;
        out[b * kBlock + c] = static_cast<int8_t>(sum);
      }
    }
  });
}

template <bool kNarrow>
void alu(const AluJob& job) {
  alu_job<kNarrow>(job);
}

template <int kBlock>
Kernels kernels_of(const Geometry& geometry) {
  const bool narrow = geometry.narrow_acc();
  return {"portable",
          geometry.elem_bytes(Memory::kInp),
          geometry.elem_bytes(Memory::kWgt),
          copy_inp,
          copy_wgt,
          narrow ? gemm<kBlock, true> : gemm<kBlock, false>,
          narrow ? alu<true> : alu<false>};
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
