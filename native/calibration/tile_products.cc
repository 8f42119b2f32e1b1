// Products by AMX: one instruction multiplies 16 columns of 32 rows with as many others, pairs of rows at a time.
#include "calibration/products.h"

// Compilers that know its instructions: GCC from 11 on, Clang from 12 on.
#if defined(__x86_64__) && defined(__linux__) && (defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#if defined(__clang__)
#define VTA_TILES __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-bf16")))
#else
#define VTA_TILES __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-bf16,prefer-vector-width=512")))
#endif

namespace vta::calibration {
namespace {

// Columns of a tile, and words of it: each has the values of two rows in a column.
constexpr int64_t kColumns = 16, kPairs = kBlock / 2, kTile = kPairs * kColumns;
constexpr int64_t kTileBytes = 64;

// What LDTILECFG reads: bytes of a row, and rows, of each tile.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// A block of 16 columns lies there twice: pairs of rows after each other, which is how the instruction reads the factor on the
// right; and columns after each other, as it reads the one on the left.
uint32_t* right_of(const Rows& rows, int64_t value, int64_t block) {
  return rows.words + (value / kColumns * 2 * rows.blocks + block) * kTile;
}
uint32_t* left_of(const Rows& rows, int64_t value, int64_t block) { return right_of(rows, value, block) + rows.blocks * kTile; }

// From [pair][column] to [column][pair]: words, then pairs of words, within the quarters of vectors; then quarters.
// With masks that keep all: compilers warn of the vectors without values that go into the others.
VTA_TILES void turn(const uint32_t* from, uint32_t* to) {
  constexpr __mmask16 kAll = 0xFFFF;
  __m512i row[16], next[16];
  for (int at = 0; at < 16; ++at) row[at] = _mm512_loadu_si512(from + at * 16);
  for (int at = 0; at < 16; at += 2) {
    next[at] = _mm512_maskz_unpacklo_epi32(kAll, row[at], row[at + 1]);
    next[at + 1] = _mm512_maskz_unpackhi_epi32(kAll, row[at], row[at + 1]);
  }
  for (int at = 0; at < 16; at += 4) {
    row[at] = _mm512_maskz_unpacklo_epi64(0xFF, next[at], next[at + 2]);
    row[at + 1] = _mm512_maskz_unpackhi_epi64(0xFF, next[at], next[at + 2]);
    row[at + 2] = _mm512_maskz_unpacklo_epi64(0xFF, next[at + 1], next[at + 3]);
    row[at + 3] = _mm512_maskz_unpackhi_epi64(0xFF, next[at + 1], next[at + 3]);
  }
  // row[4 * k + c] has columns c, c + 4, c + 8 and c + 12 of pairs 4 * k to 4 * k + 3.
  for (int c = 0; c < 4; ++c) {
    const __m512i low = _mm512_maskz_shuffle_i32x4(kAll, row[c], row[4 + c], 0x88), high = _mm512_maskz_shuffle_i32x4(kAll, row[8 + c], row[12 + c], 0x88);
    const __m512i low_odd = _mm512_maskz_shuffle_i32x4(kAll, row[c], row[4 + c], 0xDD);
    const __m512i high_odd = _mm512_maskz_shuffle_i32x4(kAll, row[8 + c], row[12 + c], 0xDD);
    _mm512_storeu_si512(to + c * 16, _mm512_maskz_shuffle_i32x4(kAll, low, high, 0x88));
    _mm512_storeu_si512(to + (c + 4) * 16, _mm512_maskz_shuffle_i32x4(kAll, low_odd, high_odd, 0x88));
    _mm512_storeu_si512(to + (c + 8) * 16, _mm512_maskz_shuffle_i32x4(kAll, low, high, 0xDD));
    _mm512_storeu_si512(to + (c + 12) * 16, _mm512_maskz_shuffle_i32x4(kAll, low_odd, high_odd, 0xDD));
  }
}

// What rounded() finds of 16 values, as bits.
VTA_TILES inline __m512i rounded_bits(__m512 values) {
  const __m512i bits = _mm512_castps_si512(values), high = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFFFF));
  const __m512i odd = _mm512_and_si512(_mm512_maskz_srli_epi32(0xFFFF, bits, 16), _mm512_set1_epi32(1));
  __m512i nearest = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
  const __m512i infinity = _mm512_set1_epi32(0x7F800000);
  nearest = _mm512_mask_mov_epi32(nearest, _mm512_cmpge_epu32_mask(magnitude, infinity), bits);
  const __mmask16 unordered = _mm512_cmpgt_epu32_mask(magnitude, infinity);
  nearest = _mm512_mask_or_epi32(nearest, unordered, nearest, _mm512_set1_epi32(0x00400000));
  return _mm512_maskz_and_epi32(_mm512_cmpge_epu32_mask(magnitude, _mm512_set1_epi32(kLeastBits)), nearest, high);
}

struct Sums {
  __m512d first;
  __m512d last;
};

// 16 values of a row of a block.
VTA_TILES inline __m512i taken_in(const float* row, __m512 middles, Sums* sums) {
  const __m512i bits = rounded_bits(_mm512_sub_ps(_mm512_loadu_ps(row), middles));
  const __m512 left = _mm512_castsi512_ps(bits);
  const __m256 last = _mm512_maskz_extractf32x8_ps(0xFF, left, 1);
  sums->first = _mm512_add_pd(sums->first, _mm512_maskz_cvtps_pd(0xFF, _mm512_maskz_extractf32x8_ps(0xFF, left, 0)));
  sums->last = _mm512_add_pd(sums->last, _mm512_maskz_cvtps_pd(0xFF, last));
  return bits;
}

VTA_TILES void take_in(const Rows& rows, int64_t block, const float* patches, int64_t count, const float* middles, double* totals) {
  for (int64_t first = 0; first < rows.stride; first += kColumns) {
    uint32_t* right = right_of(rows, first, block);
    const __m512 middle = _mm512_loadu_ps(middles + first);
    Sums sums = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    const float* values = patches + first;
    for (int64_t row = 0; row < kBlock; row += 2, values += 2 * rows.stride) {
      __m512i even = _mm512_setzero_si512(), odd = even;
      if (row < count) even = taken_in(values, middle, &sums);
      if (row + 1 < count) odd = taken_in(values + rows.stride, middle, &sums);
      _mm512_storeu_si512(right + row / 2 * kColumns, _mm512_or_si512(_mm512_maskz_srli_epi32(0xFFFF, even, 16), odd));
    }
    _mm512_storeu_pd(totals + first, _mm512_add_pd(_mm512_loadu_pd(totals + first), sums.first));
    _mm512_storeu_pd(totals + first + 8, _mm512_add_pd(_mm512_loadu_pd(totals + first + 8), sums.last));
    turn(right, left_of(rows, first, block));
  }
}

// Two by two tiles of products: an instruction waits for the one before on the same tile.
VTA_TILES void add_square(const Rows& rows, int64_t blocks, int64_t i, int64_t j, float* sums) {
  const uint32_t *top = left_of(rows, i, 0), *bottom = left_of(rows, i + kColumns, 0);
  const uint32_t *left = right_of(rows, j, 0), *right = right_of(rows, j + kColumns, 0);
  float *upper = sums + i * rows.stride + j, *lower = upper + kColumns * rows.stride;
  const int64_t step = rows.stride * static_cast<int64_t>(sizeof *sums);
  _tile_loadd(0, upper, step);
  _tile_loadd(1, upper + kColumns, step);
  _tile_loadd(2, lower, step);
  _tile_loadd(3, lower + kColumns, step);
  for (int64_t block = 0; block < blocks; ++block) {
    _tile_loadd(4, top + block * kTile, kTileBytes);
    _tile_loadd(6, left + block * kTile, kTileBytes);
    _tile_loadd(7, right + block * kTile, kTileBytes);
    _tile_loadd(5, bottom + block * kTile, kTileBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, upper, step);
  _tile_stored(1, upper + kColumns, step);
  _tile_stored(2, lower, step);
  _tile_stored(3, lower + kColumns, step);
}

VTA_TILES void add(const Rows& rows, int64_t blocks, int64_t values, float* sums) {
  TileConfig config;
  std::fill(config.row_bytes, config.row_bytes + 8, kTileBytes);
  std::fill(config.rows, config.rows + 8, kPairs);
  _tile_loadconfig(&config);
  for (int64_t j = 0; j < values; j += 2 * kColumns) {
    for (int64_t i = 0; i <= j; i += 2 * kColumns) add_square(rows, blocks, i, j, sums);
  }
  _tile_release();
}

bool processor_has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1U << 22, kTiles = 1U << 24;
  const bool vectors = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return vectors && (d & kBf16) != 0 && (d & kTiles) != 0;
}

// Linux gives the registers to a process that asks for them.
bool may_use_tiles() {
  constexpr long kAsk = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kAsk, kTileData) == 0;
}

}  // namespace

bool has_tiles() {
  static const bool found = processor_has_tiles() && may_use_tiles();
  return found;
}

ProductKernels tile_products() { return {take_in, add}; }

}  // namespace vta::calibration

#else

namespace vta::calibration {

bool has_tiles() { return false; }

ProductKernels tile_products() { return vector_products(); }

}  // namespace vta::calibration

#endif
