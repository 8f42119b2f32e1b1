// Draws which places of outputs are looked at.
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "vta_calibration.h"

namespace {

// Random numbers of 32 bits, for as long as there are some.
struct Numbers {
  const uint32_t* next;
  const uint32_t* end;
  bool exhausted = false;
};

// A number from 0 to `largest`, each as likely. After Lemire, "Fast Random Integer Generation in an Interval", 2019.
int64_t draw(Numbers* numbers, int64_t largest) {
  if (largest == 0) return 0;
  const auto range = static_cast<uint32_t>(largest + 1);
  const uint32_t unfair = (UINT32_MAX - static_cast<uint32_t>(largest)) % range;
  while (numbers->next != numbers->end) {
    const uint64_t product = static_cast<uint64_t>(*numbers->next++) * range;
    if (static_cast<uint32_t>(product) >= unfair) return static_cast<int64_t>(product >> 32);
  }
  numbers->exhausted = true;
  return 0;
}

// Some of the numbers below `positions`, all different: Floyd's algorithm (Bentley and Floyd, "A sample of brilliance", 1987), and
// then in random order.
void draw_different(Numbers* numbers, int64_t positions, int64_t count, int64_t* out, std::vector<bool>* taken) {
  taken->assign(static_cast<size_t>(positions), false);
  for (int64_t at = 0; at < count; ++at) {
    const int64_t last = positions - count + at, found = draw(numbers, last);
    out[at] = (*taken)[static_cast<size_t>(found)] ? last : found;
    (*taken)[static_cast<size_t>(out[at])] = true;
  }
  for (int64_t at = count - 1; at > 0; --at) std::swap(out[at], out[draw(numbers, at)]);
}

}  // namespace

int64_t vta_draw_places(const uint32_t* numbers, int64_t count, const int64_t* positions, const int64_t* places, int64_t layers,
                        int64_t samples, int64_t* out) {
  Numbers left{numbers, numbers + count};
  try {
    std::vector<bool> taken;
    for (int64_t sample = 0; sample < samples; ++sample) {
      for (int64_t layer = 0; layer < layers; out += places[layer], ++layer) {
        draw_different(&left, positions[layer], places[layer], out, &taken);
        if (left.exhausted) return -1;
      }
    }
  } catch (const std::bad_alloc&) {
    return -1;
  }
  return left.next - numbers;
}
