// Histograms of magnitudes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "vta_calibration.h"

namespace {

constexpr int64_t kAtOnce = 256;

// NaN if one of the values is not a number.
float largest_of(const float* values, int64_t count) {
  std::array<float, 16> lanes{};
  float unordered = 0.0F;
  int64_t at = 0;
  for (; at + 16 <= count; at += 16) {
    for (int64_t lane = 0; lane < 16; ++lane) {
      const float magnitude = std::fabs(values[at + lane]);
      lanes[lane] = magnitude > lanes[lane] ? magnitude : lanes[lane];
      unordered += magnitude - magnitude;
    }
  }
  float largest = 0.0F;
  for (; at < count; ++at) {
    largest = std::max(largest, std::fabs(values[at]));
    unordered += values[at] - values[at];
  }
  for (const float lane : lanes) largest = std::max(largest, lane);
  // What is not 0 comes of values that are infinite or no numbers: these are looked for one by one.
  if (!(unordered == 0.0F) && std::any_of(values, values + count, [](float value) { return std::isnan(value); })) return NAN;
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

void count_values(vta_histogram* histogram, const float* values, int64_t count) {
  const double factor = static_cast<double>(histogram->bins) / histogram->limit;
  const auto last = static_cast<double>(histogram->bins - 1);
  std::array<int32_t, kAtOnce> bins;
  int64_t zeros = 0;
  for (int64_t first = 0; first < count; first += kAtOnce) {
    const int64_t some = std::min(kAtOnce, count - first);
    for (int64_t at = 0; at < some; ++at) {
      const float value = values[first + at];
      const double scaled = static_cast<double>(std::fabs(value)) * factor;
      bins[static_cast<size_t>(at)] = static_cast<int32_t>(scaled < last ? scaled : last);
      zeros += value == 0.0F ? 1 : 0;
    }
    for (int64_t at = 0; at < some; ++at) ++histogram->counts[bins[static_cast<size_t>(at)]];
  }
  histogram->counts[0] -= zeros;
}

}  // namespace

double vta_histogram_add(vta_histogram* histogram, const float* values, int64_t parts, int64_t each) {
  double found = 0.0;
  for (int64_t part = 0; part < parts; ++part, values += each) {
    const double largest = largest_of(values, each);
    found = std::isnan(largest) || largest > found ? largest : found;
    if (!std::isfinite(largest) || largest == 0.0) continue;
    grow(histogram, largest);
    histogram->largest = std::max(histogram->largest, largest);
    count_values(histogram, values, each);
  }
  return found;
}
