// Histograms of magnitudes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "calibration/vectors.h"
#include "vta_calibration.h"

namespace {

constexpr int64_t kAtOnce = 256;
// Counts of the same values in turn, so that those of equal values do not wait for each other; zeros, of which there are many, are
// counted in spare bins.
constexpr int64_t kTables = 2, kSpare = 16, kBins = VTA_HISTOGRAM_BINS;

struct Tables {
  std::array<std::array<int32_t, kBins + kSpare>, kTables> counts{};
};

// NaN if one of the values is not a number. Forced inline, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline float largest_of(const float* values, int64_t count) {
  // The bits of magnitudes are in their order, and those of what is no number beyond infinity.
  int32_t most = 0;
  for (int64_t at = 0; at < count; ++at) {
    int32_t bits;
    std::memcpy(&bits, values + at, sizeof bits);
    most = std::max(most, bits & INT32_MAX);
  }
  float largest;
  std::memcpy(&largest, &most, sizeof largest);
  return largest;
}

// Bins become pairs of bins until `largest` has one.
void grow(vta_histogram* histogram, double largest) {
  if (histogram->limit == 0.0) histogram->limit = largest;
  for (; histogram->limit < largest; histogram->limit *= 2) {
    int64_t* counts = histogram->counts;
    for (int64_t bin = 0; bin < histogram->bins / 2; ++bin) counts[bin] = counts[2 * bin] + counts[2 * bin + 1];
    std::fill(counts + histogram->bins / 2, counts + histogram->bins, 0);
  }
}

__attribute__((always_inline)) inline void find_bins(const float* values, int64_t count, double factor, int32_t last,
                                                     int32_t* bins) {
  const auto most = static_cast<double>(last);
  for (int64_t at = 0; at < count; ++at) {
    const float value = values[at];
    const double scaled = static_cast<double>(std::fabs(value)) * factor;
    const auto bin = static_cast<int32_t>(scaled < most ? scaled : most);
    bins[at] = value == 0.0F ? static_cast<int32_t>(kBins + at % kSpare) : bin;
  }
}

__attribute__((always_inline)) inline void count_values(const vta_histogram& histogram, const float* values, int64_t count,
                                                        Tables* tables) {
  const double factor = static_cast<double>(histogram.bins) / histogram.limit;
  const auto last = static_cast<int32_t>(histogram.bins - 1);
  std::array<int32_t, kAtOnce> bins;
  for (int64_t first = 0; first < count; first += kAtOnce) {
    const int64_t some = std::min(kAtOnce, count - first);
    find_bins(values + first, some, factor, last, bins.data());
    int64_t at = 0;
    for (; at + kTables <= some; at += kTables) {
      for (int64_t table = 0; table < kTables; ++table) {
        ++tables->counts[static_cast<size_t>(table)][static_cast<size_t>(bins[static_cast<size_t>(at + table)])];
      }
    }
    for (; at < some; ++at) ++tables->counts[0][static_cast<size_t>(bins[static_cast<size_t>(at)])];
  }
}

void take_over(vta_histogram* histogram, Tables* tables) {
  for (auto& counts : tables->counts) {
    for (int64_t bin = 0; bin < histogram->bins; ++bin) histogram->counts[bin] += counts[static_cast<size_t>(bin)];
    counts.fill(0);
  }
}

__attribute__((always_inline)) inline double add_parts(vta_histogram* histogram, const float* values, int64_t parts,
                                                       int64_t each) {
  double found = 0.0;
  Tables tables;
  for (int64_t part = 0; part < parts; ++part, values += each) {
    const double largest = largest_of(values, each);
    found = std::isnan(largest) || largest > found ? largest : found;
    if (!std::isfinite(largest) || largest == 0.0) continue;
    if (largest > histogram->limit) {
      take_over(histogram, &tables);
      grow(histogram, largest);
    }
    histogram->largest = std::max(histogram->largest, largest);
    count_values(*histogram, values, each, &tables);
  }
  take_over(histogram, &tables);
  return found;
}

double add_plain(vta_histogram* histogram, const float* values, int64_t parts, int64_t each) {
  return add_parts(histogram, values, parts, each);
}
VTA_AVX512 double add_avx512(vta_histogram* histogram, const float* values, int64_t parts, int64_t each) {
  return add_parts(histogram, values, parts, each);
}
VTA_AVX2 double add_avx2(vta_histogram* histogram, const float* values, int64_t parts, int64_t each) {
  return add_parts(histogram, values, parts, each);
}

float largest_plain(const float* values, int64_t count) { return largest_of(values, count); }
VTA_AVX2 float largest_avx2(const float* values, int64_t count) { return largest_of(values, count); }
VTA_AVX512 float largest_avx512(const float* values, int64_t count) { return largest_of(values, count); }

}  // namespace

float vta_largest(const float* values, int64_t count) {
  return vta::calibration::widest(largest_plain, largest_avx2, largest_avx512)(values, count);
}

double vta_histogram_add(vta_histogram* histogram, const float* values, int64_t parts, int64_t each) {
  return vta::calibration::widest(add_plain, add_avx2, add_avx512)(histogram, values, parts, each);
}
