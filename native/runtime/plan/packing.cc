#include "runtime/plan/packing.h"

#include <cstring>

namespace vta {

namespace {

// Sizes of a tensor and of its blocks.
struct Blocks {
  size_t rows, channels, pixels, batch, block;

  Blocks(const std::vector<int64_t>& shape, const vta_geometry& geometry)
      : rows(static_cast<size_t>(shape[0])),
        channels(static_cast<size_t>(shape[1])),
        pixels(shape.size() == 4 ? static_cast<size_t>(shape[2]) * static_cast<size_t>(shape[3]) : 1),
        batch(size_t{1} << geometry.log_batch),
        block(size_t{1} << geometry.log_block) {}

  size_t plane() const { return groups(rows, batch) * groups(channels, block) * pixels * batch * block; }
  static size_t groups(size_t count, size_t size) { return (count + size - 1) / size; }

  // Where the first element of an image's channel lies; its pixels are `step` apart.
  size_t place(size_t row, size_t channel) const {
    const size_t outer = (row / batch) * groups(channels, block) + channel / block;
    return outer * pixels * batch * block + row % batch * block + channel % block;
  }
  size_t step() const { return batch * block; }
};

}  // namespace

uint64_t packed_bytes(const std::vector<int64_t>& shape, const vta_geometry& geometry, int planes) {
  const auto whole = [](int64_t count, int log) { return ((static_cast<uint64_t>(count) + (uint64_t{1} << log) - 1) >> log) << log; };
  const uint64_t pixels = shape.size() == 4 ? static_cast<uint64_t>(shape[2]) * static_cast<uint64_t>(shape[3]) : 1;
  return whole(shape[0], geometry.log_batch) * whole(shape[1], geometry.log_block) * pixels * static_cast<uint64_t>(planes);
}

void pack(const uint8_t* plain, const std::vector<int64_t>& shape, const vta_geometry& geometry, int planes, uint8_t* packed) {
  const Blocks blocks(shape, geometry);
  const auto count = static_cast<size_t>(planes);
  std::memset(packed, 0, blocks.plane() * count);
  for (size_t row = 0; row < blocks.rows; ++row) {
    for (size_t channel = 0; channel < blocks.channels; ++channel) {
      for (size_t plane = 0; plane < count; ++plane) {
        const uint8_t* from = plain + (row * blocks.channels + channel) * blocks.pixels * count + plane;
        uint8_t* to = packed + plane * blocks.plane() + blocks.place(row, channel);
        for (size_t pixel = 0; pixel < blocks.pixels; ++pixel) to[pixel * blocks.step()] = from[pixel * count];
      }
    }
  }
}

void unpack(const uint8_t* packed, const std::vector<int64_t>& shape, const vta_geometry& geometry, int planes, uint8_t* plain) {
  const Blocks blocks(shape, geometry);
  const auto count = static_cast<size_t>(planes);
  for (size_t row = 0; row < blocks.rows; ++row) {
    for (size_t channel = 0; channel < blocks.channels; ++channel) {
      for (size_t plane = 0; plane < count; ++plane) {
        const uint8_t* from = packed + plane * blocks.plane() + blocks.place(row, channel);
        uint8_t* to = plain + (row * blocks.channels + channel) * blocks.pixels * count + plane;
        for (size_t pixel = 0; pixel < blocks.pixels; ++pixel) to[pixel * count] = from[pixel * blocks.step()];
      }
    }
  }
}

}  // namespace vta
