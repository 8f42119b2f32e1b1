// AVX2: inputs and weights are kept as int16; a multiply-add of pairs gives exact 32-bit sums.
#include <cstring>
#include <stdexcept>

#include "kernels/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#include "kernels/chain.h"
#include "kernels/loops.h"

namespace vta {

namespace {

// INP row: [BATCH][BLOCK] of int16.
void pack_inp(const Geometry& geometry, const uint8_t* elements, int64_t rows, uint8_t* packed) {
  const int64_t count = rows * geometry.lanes();
  for (int64_t i = 0; i < count; ++i) {
    const int16_t value = static_cast<int8_t>(elements[i]);
    std::memcpy(packed + 2 * i, &value, sizeof value);
  }
}

// WGT row: [BLOCK / 2][column][2] of int16, so that one vector holds a pair of weights for each column.
template <int kBlock>
void pack_wgt(const Geometry&, const uint8_t* elements, int64_t rows, uint8_t* packed) {
  for (int64_t row = 0; row < rows; ++row) {
    int16_t pairs[kBlock / 2][kBlock][2];
    for (int c = 0; c < kBlock; ++c) {
      for (int k = 0; k < kBlock; ++k) pairs[k / 2][c][k % 2] = static_cast<int8_t>(elements[c * kBlock + k]);
    }
    std::memcpy(packed, pairs, sizeof pairs);
    elements += kBlock * kBlock;
    packed += sizeof pairs;
  }
}

VTA_INLINE int32_t load_word(const uint8_t* bytes) {
  int32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Eight columns a vector.
struct Wide {
  static constexpr int kLanes = 8;
  using Vector = __m256i;
  static VTA_INLINE Vector load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static VTA_INLINE void store(void* to, Vector value) { _mm256_storeu_si256(static_cast<__m256i*>(to), value); }
  static VTA_INLINE Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  static VTA_INLINE Vector dot(Vector weights, int32_t pair) { return _mm256_madd_epi16(weights, _mm256_set1_epi32(pair)); }
  static VTA_INLINE Vector wrap16(Vector value) { return _mm256_srai_epi32(_mm256_slli_epi32(value, 16), 16); }
  static VTA_INLINE void store_low_bytes(int8_t* to, Vector value) {
    const __m256i pick = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1,
                                          -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i bytes = _mm256_shuffle_epi8(value, pick);
    const int32_t low = _mm256_extract_epi32(bytes, 0);
    const int32_t high = _mm256_extract_epi32(bytes, 4);
    std::memcpy(to, &low, sizeof low);
    std::memcpy(to + 4, &high, sizeof high);
  }
};

// Four columns a vector.
struct Narrow {
  static constexpr int kLanes = 4;
  using Vector = __m128i;
  static VTA_INLINE Vector load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
  static VTA_INLINE void store(void* to, Vector value) { _mm_storeu_si128(static_cast<__m128i*>(to), value); }
  static VTA_INLINE Vector add(Vector a, Vector b) { return _mm_add_epi32(a, b); }
  static VTA_INLINE Vector dot(Vector weights, int32_t pair) { return _mm_madd_epi16(weights, _mm_set1_epi32(pair)); }
  static VTA_INLINE Vector wrap16(Vector value) { return _mm_srai_epi32(_mm_slli_epi32(value, 16), 16); }
  static VTA_INLINE void store_low_bytes(int8_t* to, Vector value) {
    const __m128i pick = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const int32_t bytes = _mm_cvtsi128_si32(_mm_shuffle_epi8(value, pick));
    std::memcpy(to, &bytes, sizeof bytes);
  }
};

// kBatch 0: the job's.
template <typename V, int kBlock, int kBatch, bool kNarrow>
void gemm(const GemmJob& job) {
  const int batch = kBatch != 0 ? kBatch : job.batch;
  const int64_t lanes = int64_t{batch} * kBlock;
  for_each_run(job.part, [&](int64_t dst, int64_t src, int64_t wgt, const Uop* first, const Uop* last)
                             __attribute__((always_inline)) {
    for (int b = 0; b < batch; ++b) {
      const int64_t row = dst * lanes + b * kBlock;
      int32_t* acc = job.acc + row;
      for (int c = 0; c < kBlock; c += V::kLanes) {
        typename V::Vector sum = V::load(acc + c);
        for (const Uop* uop = first; uop != last; ++uop) {
          const uint8_t* inp = job.inp + ((src + uop->src) * lanes + b * kBlock) * 2;
          const uint8_t* weights = job.wgt + (wgt + uop->wgt) * kBlock * kBlock * 2 + 4 * c;
#pragma GCC unroll 32
          for (int pair = 0; pair < kBlock / 2; ++pair) {
            sum = V::add(sum, V::dot(V::load(weights + pair * 4 * kBlock), load_word(inp + 4 * pair)));
          }
        }
        if (kNarrow) sum = V::wrap16(sum);
        V::store(acc + c, sum);
        if (job.out != nullptr) V::store_low_bytes(job.out + row + c, sum);
      }
    }
  });
}

template <bool kNarrow>
void alu(const AluJob& job) {
  alu_job<kNarrow>(job);
}

template <bool kNarrow>
void chain(const ChainJob& job) {
  chain_job<32, kNarrow>(job);
}

template <typename V, int kBlock, bool kNarrow>
auto gemm_of(int batch) {
  if (batch == 1) return gemm<V, kBlock, 1, kNarrow>;
  if (batch == 4) return gemm<V, kBlock, 4, kNarrow>;
  return gemm<V, kBlock, 0, kNarrow>;
}

template <typename V, int kBlock>
Kernels kernels_of(const Geometry& geometry) {
  const bool narrow = geometry.narrow_acc();
  return {"avx2",
          2 * geometry.elem_bytes(Memory::kInp),
          2 * geometry.elem_bytes(Memory::kWgt),
          pack_inp,
          pack_wgt<kBlock>,
          narrow ? gemm_of<V, kBlock, true>(geometry.batch) : gemm_of<V, kBlock, false>(geometry.batch),
          narrow ? alu<true> : alu<false>,
          narrow ? chain<true> : chain<false>};
}

}  // namespace

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }

Kernels avx2_kernels(const Geometry& geometry) {
  switch (geometry.block) {
    case 4:
      return kernels_of<Narrow, 4>(geometry);
    case 8:
      return kernels_of<Wide, 8>(geometry);
    case 16:
      return kernels_of<Wide, 16>(geometry);
    case 32:
      return kernels_of<Wide, 32>(geometry);
    default:
      return kernels_of<Wide, 64>(geometry);
  }
}

}  // namespace vta

#else

namespace vta {

bool has_avx2() { return false; }

Kernels avx2_kernels(const Geometry&) { throw std::invalid_argument("AVX2 needs an x86-64 processor"); }

}  // namespace vta

#endif
