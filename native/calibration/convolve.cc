// Convolutions of floats, as products of weights with what lies under them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "calibration/epilogue.h"
#include "calibration/vectors.h"
#include "vta_calibration.h"
#include "vta_common.h"

namespace {

using vta::calibration::activate;
using vta::calibration::Largest;

// Outputs and places that are computed together.
constexpr int64_t kHigh = 8, kWide = 32, kHalf = kWide / 2;
// Values behind the last one that may be read or written.
constexpr int64_t kSlack = 16;
constexpr int64_t kEight = 8;
// Products that are added up at once; of longer sums so many after the other, and the rest as two halves.
constexpr int64_t kMost = 448;

// Places of a tile that lie beside each other in a row of the data.
struct Run {
  int64_t from;
  int64_t to;
  int64_t places;
};

struct Runs {
  std::array<Run, kWide> of{};
  size_t count = 0;
};

int64_t values_of(const vta_convolution& c) { return c.channels * c.kernel_height * c.kernel_width; }

int64_t padded_height(const vta_convolution& c) { return c.top + c.height + c.bottom; }

int64_t padded_width(const vta_convolution& c) { return c.left + c.width + c.right; }

int64_t next_sum(int64_t left) {
  if (left >= 2 * kMost) return kMost;
  return left > kMost ? (left + 1) / 2 : left;
}

// The weights of `kHigh` outputs side by side, zeros behind the last output of a group.
void pack_weights(const vta_convolution& c, const float* weights, float* packed) {
  const int64_t values = values_of(c);
  for (int64_t group = 0; group < c.groups; ++group) {
    for (int64_t first = 0; first < c.outputs; first += kHigh) {
      const int64_t rows = std::min(kHigh, c.outputs - first);
      if (rows == kHigh) {
        for (int64_t at = 0; at < values; ++at) {
          for (int64_t row = 0; row < kHigh; ++row) *packed++ = weights[row * values + at];
        }
      } else {
        for (int64_t at = 0; at < values; ++at) {
          for (int64_t row = 0; row < kHigh; ++row) *packed++ = row < rows ? weights[row * values + at] : 0.0F;
        }
      }
      weights += rows * values;
    }
  }
}

template <int64_t kPlaces>
void copy_beside(const float* from, float* to) {
  std::memcpy(to, from, kPlaces * sizeof *to);
}

// Widths are often some eights: calls of a library for each row would take longer.
void copy_row(const float* from, int64_t places, float* to) {
  for (; places >= kSlack; places -= kSlack, from += kSlack, to += kSlack) copy_beside<kSlack>(from, to);
  for (; places >= kEight; places -= kEight, from += kEight, to += kEight) copy_beside<kEight>(from, to);
  for (int64_t at = 0; at < places; ++at) to[at] = from[at];
}

void pad(const vta_convolution& c, const float* data, float* padded) {
  const int64_t width = padded_width(c);
  for (int64_t channel = 0; channel < c.channels; ++channel) {
    float* plane = padded + channel * padded_height(c) * width + c.top * width + c.left;
    for (int64_t y = 0; y < c.height; ++y, data += c.width) copy_row(data, c.width, plane + y * width);
  }
}

Runs runs_of(const vta_convolution& c, int64_t first, int64_t places) {
  Runs runs;
  int64_t y = first / c.out_width, x = first % c.out_width;
  for (int64_t done = 0; done < places; ++y, x = 0) {
    const int64_t some = std::min(c.out_width - x, places - done);
    runs.of[runs.count++] = {y * c.stride_height * padded_width(c) + x * c.stride_width, done, some};
    done += some;
  }
  return runs;
}

// In whole vectors, where as much as `kSlack` values may be read, and written, behind the last one.
void copy_more(const float* from, int64_t places, float* to) {
  if (places <= kEight) return copy_beside<kEight>(from, to);
  for (int64_t at = 0; at < places; at += kSlack) copy_beside<kSlack>(from + at, to + at);
}

// Of every other value; in whole vectors, too.
void copy_more_of_two(const float* from, int64_t places, float* to) {
  for (int64_t at = 0; at < places; at += kEight) {
    float pairs[2 * kEight], first[kEight];
    std::memcpy(pairs, from + 2 * at, sizeof pairs);
#pragma GCC unroll 1  // a loop that stays a loop is vectorised
    for (int64_t each = 0; each < kEight; ++each) first[each] = pairs[2 * each];
    std::memcpy(to + at, first, sizeof first);
  }
}

// What each weight meets at the places of a tile: a row of `kWide` for each, `offsets[k]` on in the planes for weight k. Runs are in
// order, so that what is written behind one is overwritten by what belongs there.
template <typename Copy>
void gather_runs(const std::vector<int64_t>& offsets, const float* planes, const Runs& runs, const Copy& copy, float* rows) {
  for (const int64_t offset : offsets) {
    for (size_t at = 0; at < runs.count; ++at) {
      const Run& run = runs.of[at];
      copy(planes + offset + run.from, run.places, rows + run.to);
    }
    rows += kWide;
  }
}

// The same where runs are all of a tile, and of eight places each.
void gather_eights(const std::vector<int64_t>& offsets, const float* planes, const Runs& runs, float* rows) {
  const std::array<int64_t, 4> from{runs.of[0].from, runs.of[1].from, runs.of[2].from, runs.of[3].from};
  for (const int64_t offset : offsets) {
    for (const int64_t at : from) {
      copy_beside<kEight>(planes + offset + at, rows);
      rows += kEight;
    }
  }
}

// `has_slack`: of the planes, those of the rows have some.
void gather(const vta_convolution& c, const std::vector<int64_t>& offsets, const float* planes, bool has_slack, const Runs& runs,
            float* rows) {
  const auto is_eight = [](const Run& run) { return run.places == kEight; };
  if (c.stride_width == 1 && runs.count == 4 && std::all_of(runs.of.begin(), runs.of.begin() + 4, is_eight)) {
    return gather_eights(offsets, planes, runs, rows);
  }
  if (c.stride_width == 1 && has_slack) return gather_runs(offsets, planes, runs, copy_more, rows);
  if (c.stride_width == 1) return gather_runs(offsets, planes, runs, copy_row, rows);
  if (c.stride_width == 2 && has_slack) return gather_runs(offsets, planes, runs, copy_more_of_two, rows);
  const auto copy = [&c](const float* from, int64_t places, float* to) {
    for (int64_t at = 0; at < places; ++at) to[at] = from[at * c.stride_width];
  };
  gather_runs(offsets, planes, runs, copy, rows);
}

// Where a tile finds what weights meet: that of weight k, at the first and the second half of its places, lies `offsets[k]` on.
struct Tile {
  const float* first;
  const float* second;
  const int64_t* offsets;
  int64_t places;
};

// Forced inline, so that it is compiled for the vector unit of its caller.
__attribute__((always_inline)) inline void multiply_tile(const float* weights, const Tile& tile, int64_t values,
                                                         float (&totals)[kHigh][kWide]) {
  for (int64_t done = 0, k = 0; done < values; done = k) {
    const int64_t end = done + next_sum(values - done);
    float sums[kHigh][kWide] = {};
    for (; k < end; ++k, weights += kHigh) {
      float under[kWide];
      std::memcpy(under, tile.first + tile.offsets[k], sizeof under / 2);
      std::memcpy(under + kHalf, tile.second + tile.offsets[k], sizeof under / 2);
      for (int64_t a = 0; a < kHigh; ++a) {
        for (int64_t b = 0; b < kWide; ++b) sums[a][b] = std::fma(weights[a], under[b], sums[a][b]);
      }
    }
    for (int64_t a = 0; a < kHigh; ++a) {
      for (int64_t b = 0; b < kWide; ++b) totals[a][b] = done == 0 ? sums[a][b] : totals[a][b] + sums[a][b];
    }
  }
}

// Where the outputs of a group at the places of a tile go, and what is done to them before.
struct Results {
  float* out;
  const vta_epilogue* epilogue;  // perhaps NULL
  const float* biases;           // perhaps NULL
  const float* residual;         // perhaps NULL
};

// What follows sums of one output; whether all are finite before the activation is for `largest` to say.
__attribute__((always_inline)) inline void finish_row(const Results& results, int64_t output, int64_t place, int64_t places,
                                                      float (&row)[kWide], Largest<kWide>* largest) {
  if (results.biases != nullptr) {
    for (int64_t b = 0; b < kWide; ++b) row[b] += results.biases[output];
  }
  if (results.residual != nullptr) {
    float others[kWide] = {};
    if (places == kWide) {
      std::memcpy(others, results.residual + place, sizeof others);
    } else {
      std::copy(results.residual + place, results.residual + place + places, others);
    }
    for (int64_t b = 0; b < kWide; ++b) row[b] += others[b];
  }
  largest->add(row);
  activate<kWide>(*results.epilogue, row);
}

// All outputs of a group at the places of a tile; whether all are finite, where an epilogue follows. What lanes behind the last
// place have is of other places.
__attribute__((always_inline)) inline bool multiply_all(const vta_convolution& c, const float* weights, const Tile& tile,
                                                        const Results& results) {
  const int64_t values = values_of(c), positions = c.out_height * c.out_width;
  Largest<kWide> largest;
  for (int64_t first = 0; first < c.outputs; first += kHigh, weights += kHigh * values) {
    float totals[kHigh][kWide];
    multiply_tile(weights, tile, values, totals);
    for (int64_t a = 0; a < std::min(kHigh, c.outputs - first); ++a) {
      const int64_t place = (first + a) * positions;
      float *row = totals[a], *out = results.out + place;
      if (results.epilogue != nullptr) finish_row(results, first + a, place, tile.places, totals[a], &largest);
      if (tile.places == kWide) {
        std::memcpy(out, row, sizeof totals[a]);
      } else {
        std::copy(row, row + tile.places, out);
      }
    }
  }
  return largest.is_finite();
}

using Multiply = bool (*)(const vta_convolution& c, const float* weights, const Tile& tile, const Results& results);

bool multiply_plain(const vta_convolution& c, const float* weights, const Tile& tile, const Results& results) {
  return multiply_all(c, weights, tile, results);
}

VTA_AVX2 bool multiply_avx2(const vta_convolution& c, const float* weights, const Tile& tile, const Results& results) {
  return multiply_all(c, weights, tile, results);
}
VTA_AVX512 bool multiply_avx512(const vta_convolution& c, const float* weights, const Tile& tile, const Results& results) {
  return multiply_all(c, weights, tile, results);
}

// A convolution that looks at single places takes all of them for one row.
vta_convolution flattened(const vta_convolution& given) {
  vta_convolution c = given;
  const bool single = c.kernel_height == 1 && c.kernel_width == 1 && c.stride_height == 1 && c.stride_width == 1;
  if (single && padded_height(c) == c.height && padded_width(c) == c.width) {
    c.width = c.out_width = c.height * c.width;
    c.height = c.out_height = 1;
  }
  return c;
}

// Where what each weight meets lies in the data of a group.
std::vector<int64_t> offsets_of(const vta_convolution& c) {
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(values_of(c)));
  const int64_t width = padded_width(c), plane = padded_height(c) * width;
  for (int64_t channel = 0; channel < c.channels; ++channel) {
    for (int64_t i = 0; i < c.kernel_height; ++i) {
      for (int64_t j = 0; j < c.kernel_width; ++j) {
        offsets.push_back(channel * plane + i * c.dilation_height * width + j * c.dilation_width);
      }
    }
  }
  return offsets;
}

// Whether each half of a tile lies in a row of the data as it is.
bool has_rows(const vta_convolution& c) {
  return c.stride_width == 1 && c.out_width % kHalf == 0 && c.out_height * c.out_width % kWide == 0;
}

int64_t corner(const vta_convolution& c, int64_t place) {
  return place / c.out_width * c.stride_height * padded_width(c) + place % c.out_width * c.stride_width;
}

}  // namespace

int vta_convolve(const vta_convolution* convolution, const float* data, const float* weights, const vta_epilogue* epilogue,
                 float* out) {
  const vta_convolution c = flattened(*convolution);
  const int64_t values = values_of(c), positions = c.out_height * c.out_width, plane = c.height * c.width;
  const int64_t group_weights = (c.outputs + kHigh - 1) / kHigh * kHigh * values;
  const bool is_padded = padded_height(c) != c.height || padded_width(c) != c.width, gathered = !has_rows(c);
  const Multiply multiply = vta::calibration::widest(multiply_plain, multiply_avx2, multiply_avx512);
  try {
    const std::vector<int64_t> offsets = offsets_of(c);
    // In rows that were gathered, and in the data.
    std::vector<int64_t> beside(static_cast<size_t>(gathered ? values : 0));
    for (size_t at = 0; at < beside.size(); ++at) beside[at] = static_cast<int64_t>(at) * kWide;
    const int64_t* meets = gathered ? beside.data() : offsets.data();
    std::vector<float> packed(static_cast<size_t>(c.groups * group_weights));
    std::vector<float> rows(static_cast<size_t>(gathered ? values * kWide + kSlack : 0));
    // What lies around the data stays zero.
    std::vector<float> padded(static_cast<size_t>(is_padded ? c.channels * padded_height(c) * padded_width(c) + kSlack : 0));
    const vta_epilogue follows = epilogue == nullptr ? vta_epilogue{} : *epilogue;
    pack_weights(c, weights, packed.data());
    for (int64_t part = 0; part < c.images * c.groups; ++part, data += c.channels * plane) {
      if (is_padded) pad(c, data, padded.data());
      const float* planes = is_padded ? padded.data() : data;
      const int64_t group = part % c.groups;
      const int64_t first = part * c.outputs * positions;
      for (int64_t at = 0; at < positions; at += kWide) {
        Tile tile{rows.data(), rows.data() + kHalf, meets, std::min(kWide, positions - at)};
        if (gathered) {
          gather(c, offsets, planes, is_padded, runs_of(c, at, tile.places), rows.data());
        } else {
          tile.first = planes + corner(c, at);
          tile.second = planes + corner(c, at + kHalf);
        }
        const float* biases = follows.biases == nullptr ? nullptr : follows.biases + group * c.outputs;
        const float* residual = follows.residual == nullptr ? nullptr : follows.residual + first + at;
        const Results results{out + first + at, epilogue, biases, residual};
        if (!multiply(c, packed.data() + group * group_weights, tile, results)) return VTA_MORE;
      }
    }
  } catch (const std::bad_alloc&) {
    return VTA_FAILED;
  }
  return VTA_DONE;
}
