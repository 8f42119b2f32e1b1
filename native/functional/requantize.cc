#include "functional/requantize.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace vta {

namespace {

constexpr int kFirstShift = 31;
constexpr int64_t kFirstHalf = int64_t{1} << (kFirstShift - 1);
constexpr uint32_t kEntryOfZero = 128;

// What the three rows of parameters hold for one lane.
struct Lane {
  uint32_t bias;
  int64_t multiplier;
  int left;
  int right;
  int64_t first_half;   // added before the first shift
  int64_t second_half;  // added before the second, less `below` where the value is negative
  int64_t below;
  int64_t zero_point;
  int64_t low;
  int64_t high;
};

int64_t signed_byte(uint32_t control, int low) { return static_cast<int8_t>(control >> low); }

Lane lane_of(uint32_t bias, int32_t multiplier, uint32_t control, bool wide) {
  const bool lifts = !wide && (control >> 5 & 1) != 0;
  const int amount = static_cast<int>(control & 31);
  const bool once = (control >> 6 & 1) != 0;
  Lane lane{};
  lane.bias = bias;
  lane.multiplier = multiplier;
  lane.left = wide ? static_cast<int>(control >> 8 & 31) : lifts ? -amount & 31 : 0;
  lane.right = lifts ? 0 : amount;
  lane.first_half = once && lane.right > 0 ? 0 : kFirstHalf;
  lane.second_half = lane.right > 0 ? int64_t{1} << (lane.right - 1) : 0;
  lane.below = once || lane.right == 0 ? 0 : 1;
  lane.zero_point = signed_byte(control, 8);
  lane.low = signed_byte(control, 16);
  lane.high = signed_byte(control, 24);
  return lane;
}

int64_t scaled(int32_t value, const Lane& lane) {
  const auto raised = static_cast<int32_t>((static_cast<uint32_t>(value) + lane.bias) << lane.left);
  const int64_t first = (raised * lane.multiplier + lane.first_half) >> kFirstShift;
  return (first + lane.second_half - (first < 0 ? lane.below : 0)) >> lane.right;
}

void requantize_row(const RequantizeJob& job, const std::vector<Lane>& lanes, int64_t row) {
  int32_t* acc = job.acc + row * job.lanes;
  int8_t* out = job.out + row * job.lanes;
  for (size_t l = 0; l < lanes.size(); ++l) {
    const int64_t result = scaled(acc[l], lanes[l]);
    if (job.wide) {
      acc[l] = static_cast<int32_t>(result);
      out[l] = static_cast<int8_t>(result);
      continue;
    }
    const int64_t narrow = std::min(std::max(result + lanes[l].zero_point, lanes[l].low), lanes[l].high);
    acc[l] = 0;
    out[l] = static_cast<int8_t>(job.table == nullptr ? narrow : job.table[static_cast<uint8_t>(narrow + kEntryOfZero)]);
  }
}

// `apart`: between the rows of parameters.
void take_lanes(const RequantizeJob& job, const int32_t* parameters, int64_t apart, std::vector<Lane>& lanes) {
  for (int64_t l = 0; l < job.lanes; ++l) {
    lanes[static_cast<size_t>(l)] = lane_of(static_cast<uint32_t>(parameters[l]), parameters[apart + l],
                                            static_cast<uint32_t>(parameters[2 * apart + l]), job.wide);
  }
}

void requantize_iteration(const RequantizeJob& job, const std::vector<Lane>& lanes, int64_t o) {
  const NestPart& part = job.part;
  for (int64_t i = part.in_first; i < part.in_last; ++i) {
    const int64_t base = o * part.dst.outer + i * part.dst.inner;
    for (int64_t u = 0; u < part.uop_count; ++u) requantize_row(job, lanes, base + part.uops[u].dst);
  }
}

}  // namespace

void requantize_rows(const RequantizeJob& job) {
  const NestPart& part = job.part;
  std::vector<Lane> lanes(static_cast<size_t>(job.lanes));
  for (int64_t o = part.out_first; o < part.out_last; ++o) {
    take_lanes(job, job.acc + (part.uops->src + o * part.src.outer) * job.lanes, part.src.inner * job.lanes, lanes);
    requantize_iteration(job, lanes, o);
  }
}

void requantize_rows(const RequantizeJob& job, const int32_t* parameters) {
  std::vector<Lane> lanes(static_cast<size_t>(job.lanes));
  take_lanes(job, parameters, job.lanes, lanes);
  for (int64_t o = job.part.out_first; o < job.part.out_last; ++o) requantize_iteration(job, lanes, o);
}

}  // namespace vta
