// AVX-512 VNNI: one instruction sums four products of an unsigned and a signed byte into each 32-bit lane. Inputs are kept
// with 128 added, so that they are unsigned; each block of weights carries -128 times the sums of its columns, which takes that
// out again, once for all rows that share the block.
#include <cstring>
#include <stdexcept>

#include "kernels/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vnni,prefer-vector-width=512")
#endif

#include "kernels/chain.h"
#include "kernels/loops.h"

namespace vta {

namespace {

VTA_INLINE int32_t load_word(const uint8_t* bytes) {
  int32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

struct Lanes16 {
  static constexpr int kLanes = 16;
  using Vector = __m512i;
  static VTA_INLINE Vector fill(int32_t value) { return _mm512_set1_epi32(value); }
  static VTA_INLINE Vector load(const void* from) { return _mm512_loadu_si512(from); }
  static VTA_INLINE void store(void* to, Vector value) { _mm512_storeu_si512(to, value); }
  static VTA_INLINE Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  static VTA_INLINE Vector times_minus_128(Vector a) {
    return _mm512_sub_epi32(fill(0), _mm512_maskz_slli_epi32(0xFFFF, a, 7));
  }
  static VTA_INLINE Vector dot(Vector sum, Vector inp, Vector weights) { return _mm512_dpbusd_epi32(sum, inp, weights); }
  // The zero-masked forms: GCC 12 warns about the undefined vector inside the plain ones.
  static VTA_INLINE Vector wrap16(Vector value) {
    return _mm512_maskz_srai_epi32(0xFFFF, _mm512_maskz_slli_epi32(0xFFFF, value, 16), 16);
  }
  static VTA_INLINE void store_low_bytes(int8_t* to, Vector value) { _mm512_mask_cvtepi32_storeu_epi8(to, 0xFFFF, value); }
};

struct Lanes8 {
  static constexpr int kLanes = 8;
  using Vector = __m256i;
  static VTA_INLINE Vector fill(int32_t value) { return _mm256_set1_epi32(value); }
  static VTA_INLINE Vector load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static VTA_INLINE void store(void* to, Vector value) { _mm256_storeu_si256(static_cast<__m256i*>(to), value); }
  static VTA_INLINE Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  static VTA_INLINE Vector times_minus_128(Vector a) { return _mm256_sub_epi32(fill(0), _mm256_slli_epi32(a, 7)); }
  static VTA_INLINE Vector dot(Vector sum, Vector inp, Vector weights) { return _mm256_dpbusd_epi32(sum, inp, weights); }
  static VTA_INLINE Vector wrap16(Vector value) { return _mm256_srai_epi32(_mm256_slli_epi32(value, 16), 16); }
  static VTA_INLINE void store_low_bytes(int8_t* to, Vector value) { _mm256_mask_cvtepi32_storeu_epi8(to, 0xFF, value); }
};

struct Lanes4 {
  static constexpr int kLanes = 4;
  using Vector = __m128i;
  static VTA_INLINE Vector fill(int32_t value) { return _mm_set1_epi32(value); }
  static VTA_INLINE Vector load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
  static VTA_INLINE void store(void* to, Vector value) { _mm_storeu_si128(static_cast<__m128i*>(to), value); }
  static VTA_INLINE Vector add(Vector a, Vector b) { return _mm_add_epi32(a, b); }
  static VTA_INLINE Vector times_minus_128(Vector a) { return _mm_sub_epi32(fill(0), _mm_slli_epi32(a, 7)); }
  static VTA_INLINE Vector dot(Vector sum, Vector inp, Vector weights) { return _mm_dpbusd_epi32(sum, inp, weights); }
  static VTA_INLINE Vector wrap16(Vector value) { return _mm_srai_epi32(_mm_slli_epi32(value, 16), 16); }
  static VTA_INLINE void store_low_bytes(int8_t* to, Vector value) { _mm_mask_cvtepi32_storeu_epi8(to, 0xF, value); }
};

// INP row: [BATCH][BLOCK] of bytes with 128 added. Most loads are short: what is left over is one more vector.
void pack_inp(const Geometry& geometry, const uint8_t* elements, int64_t rows, uint8_t* packed) {
  const __m512i top = _mm512_set1_epi8(-128);
  int64_t left = rows * geometry.lanes();
  for (; left >= 64; left -= 64, elements += 64, packed += 64) {
    _mm512_storeu_si512(packed, _mm512_xor_si512(_mm512_loadu_si512(elements), top));
  }
  if (left == 0) return;
  const __mmask64 last = ~uint64_t{0} >> (64 - left);
  _mm512_mask_storeu_epi8(packed, last, _mm512_xor_si512(_mm512_maskz_loadu_epi8(last, elements), top));
}

template <int kBlock>
constexpr int64_t kWgtRowBytes = (kBlock + 4) * kBlock;

// From [column][BLOCK] to [BLOCK / 4][column][4].
template <int kBlock>
VTA_INLINE void turn_columns(const uint8_t* elements, uint8_t* to) {
  for (int k = 0; k < kBlock; k += 4) {
    for (int c = 0; c < kBlock; ++c, to += 4) std::memcpy(to, elements + c * kBlock + k, 4);
  }
}

// Eight columns at a time, then all of them.
template <>
VTA_INLINE void turn_columns<16>(const uint8_t* elements, uint8_t* to) {
  const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
  const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(2));
  __m512i halves[2][2];
  for (int half = 0; half < 2; ++half) {
    const __m512i low = _mm512_loadu_si512(elements + 128 * half), high = _mm512_loadu_si512(elements + 128 * half + 64);
    halves[half][0] = _mm512_permutex2var_epi32(low, first, high);
    halves[half][1] = _mm512_permutex2var_epi32(low, second, high);
  }
  for (int pair = 0; pair < 2; ++pair) {
    _mm512_storeu_si512(to + 128 * pair, _mm512_maskz_shuffle_i64x2(0xFF, halves[0][pair], halves[1][pair], 0x44));
    _mm512_storeu_si512(to + 128 * pair + 64, _mm512_maskz_shuffle_i64x2(0xFF, halves[0][pair], halves[1][pair], 0xEE));
  }
}

// WGT row: [BLOCK / 4][column][4] of int8, then [column] of int32 corrections.
template <typename V, int kBlock>
void pack_wgt(const Geometry&, const uint8_t* elements, int64_t rows, uint8_t* packed) {
  const typename V::Vector ones = V::fill(0x01010101);
  for (int64_t row = 0; row < rows; ++row, elements += kBlock * kBlock, packed += kWgtRowBytes<kBlock>) {
    turn_columns<kBlock>(elements, packed);
    uint8_t* to = packed + kBlock * kBlock;
    for (int c = 0; c < kBlock; c += V::kLanes) {
      typename V::Vector sum = V::fill(0);
      for (int four = 0; four < kBlock / 4; ++four) sum = V::dot(sum, ones, V::load(packed + 4 * (four * kBlock + c)));
      V::store(to + 4 * c, V::times_minus_128(sum));
    }
  }
}

// One row of sums. Several chains at once hide the latency of the dot product.
template <typename V, int kBlock, bool kNarrow>
VTA_INLINE void sum_row(const GemmJob& job, int batch, int64_t dst, int64_t src, int64_t wgt, const Uop* first,
                        const Uop* last) {
  constexpr int kChains = kBlock / 4 < 4 ? kBlock / 4 : 4;
  const int64_t lanes = int64_t{batch} * kBlock;
  for (int b = 0; b < batch; ++b) {
    const int64_t row = dst * lanes + b * kBlock;
    int32_t* acc = job.acc + row;
    for (int c = 0; c < kBlock; c += V::kLanes) {
      typename V::Vector sums[kChains] = {V::load(acc + c)};
      for (const Uop* uop = first; uop != last; ++uop) {
        const uint8_t* inp = job.inp + (src + uop->src) * lanes + b * kBlock;
        const uint8_t* weights = job.wgt + (wgt + uop->wgt) * kWgtRowBytes<kBlock> + 4 * c;
        sums[0] = V::add(sums[0], V::load(weights + kBlock * kBlock));
#pragma GCC unroll 16
        for (int four = 0; four < kBlock / 4; ++four) {
          typename V::Vector& sum = sums[four % kChains];
          sum = V::dot(sum, V::fill(load_word(inp + 4 * four)), V::load(weights + four * 4 * kBlock));
        }
      }
      for (int chain = 1; chain < kChains; ++chain) sums[0] = V::add(sums[0], sums[chain]);
      if (kNarrow) sums[0] = V::wrap16(sums[0]);
      V::store(acc + c, sums[0]);
      if (job.out != nullptr) V::store_low_bytes(job.out + row + c, sums[0]);
    }
  }
}

// kRows rows of sums that share their weights: each vector of these is loaded once for all. kAccStep and kInpStep: distances of these
// rows and of their inputs, which compilers put into addresses; 0: the job's.
template <typename V, int kBlock, bool kNarrow, int kRows, int kAccStep, int kInpStep>
VTA_INLINE void sum_rows(const GemmJob& job, int batch, int64_t dst, int64_t src, int64_t wgt, const Uop* first,
                         const Uop* last) {
  const int64_t lanes = int64_t{batch} * kBlock;
  const int64_t acc_step = (kAccStep != 0 ? kAccStep : job.part.dst.inner) * lanes;
  const int64_t inp_step = (kInpStep != 0 ? kInpStep : job.part.src.inner) * lanes;
  for (int b = 0; b < batch; ++b) {
    for (int c = 0; c < kBlock; c += V::kLanes) {
      const int64_t place = dst * lanes + b * kBlock + c;
      int32_t* acc = job.acc + place;
      typename V::Vector sums[kRows];
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) sums[row] = V::load(acc + row * acc_step);
      typename V::Vector correction = V::fill(0);
      for (const Uop* uop = first; uop != last; ++uop) {
        const uint8_t* inp = job.inp + (src + uop->src) * lanes + b * kBlock;
        const uint8_t* weights = job.wgt + (wgt + uop->wgt) * kWgtRowBytes<kBlock> + 4 * c;
        correction = V::add(correction, V::load(weights + kBlock * kBlock));
#pragma GCC unroll 16
        for (int four = 0; four < kBlock / 4; ++four) {
          const typename V::Vector column = V::load(weights + four * 4 * kBlock);
#pragma GCC unroll 16
          for (int row = 0; row < kRows; ++row) {
            sums[row] = V::dot(sums[row], V::fill(load_word(inp + row * inp_step + 4 * four)), column);
          }
        }
      }
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        sums[row] = V::add(sums[row], correction);
        if (kNarrow) sums[row] = V::wrap16(sums[row]);
        V::store(acc + row * acc_step, sums[row]);
      }
      if (job.out == nullptr) continue;
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) V::store_low_bytes(job.out + place + row * acc_step, sums[row]);
    }
  }
}

template <typename V, int kBlock, int kBatch, bool kNarrow, int kRows, int kAccStep, int kInpStep>
void gemm_rows(const GemmJob& job) {
  const int batch = kBatch != 0 ? kBatch : job.batch;
  for_each_rows<kRows>(
      job.part,
      [&](int64_t dst, int64_t src, int64_t wgt, const Uop* first, const Uop* last) __attribute__((always_inline)) {
        sum_rows<V, kBlock, kNarrow, kRows, kAccStep, kInpStep>(job, batch, dst, src, wgt, first, last);
      },
      [&](int64_t dst, int64_t src, int64_t wgt, const Uop* first, const Uop* last) __attribute__((always_inline)) {
        sum_row<V, kBlock, kNarrow>(job, batch, dst, src, wgt, first, last);
      });
}

// kBatch 0: the job's. Of one row, the usual distances of rows have loops of their own; 16 rows keep both units for products busy.
template <typename V, int kBlock, int kBatch, bool kNarrow>
void gemm(const GemmJob& job) {
  if constexpr (kBatch == 1 && kBlock == V::kLanes) {
    const NestPart& part = job.part;
    const bool many = (part.in_last - part.in_first) % 16 == 0;
    if (part.dst.inner == 1 && part.src.inner == 1) {
      if (many) return gemm_rows<V, kBlock, 1, kNarrow, 16, 1, 1>(job);
      return gemm_rows<V, kBlock, 1, kNarrow, 8, 1, 1>(job);
    }
    if (part.dst.inner == 1 && part.src.inner == 2) return gemm_rows<V, kBlock, 1, kNarrow, 8, 1, 2>(job);
  }
  gemm_rows<V, kBlock, kBatch, kNarrow, 8, 0, 0>(job);
}

template <bool kNarrow>
void alu(const AluJob& job) {
  alu_job<kNarrow>(job);
}

template <bool kNarrow>
void chain(const ChainJob& job) {
  chain_job<64, kNarrow>(job);
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
  return {"avx512",
          geometry.elem_bytes(Memory::kInp),
          kWgtRowBytes<kBlock>,
          pack_inp,
          pack_wgt<V, kBlock>,
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

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
}

Kernels avx512_kernels(const Geometry& geometry) {
  switch (geometry.block) {
    case 4:
      return kernels_of<Lanes4, 4>(geometry);
    case 8:
      return kernels_of<Lanes8, 8>(geometry);
    case 16:
      return kernels_of<Lanes16, 16>(geometry);
    case 32:
      return kernels_of<Lanes16, 32>(geometry);
    default:
      return kernels_of<Lanes16, 64>(geometry);
  }
}

}  // namespace vta

#else

namespace vta {

bool has_avx512() { return false; }

Kernels avx512_kernels(const Geometry&) { throw std::invalid_argument("AVX-512 needs an x86-64 processor"); }

}  // namespace vta

#endif
