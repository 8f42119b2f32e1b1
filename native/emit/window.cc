#include "emit/window.h"

#include <algorithm>
#include <string>

#include "emit/emit_error.h"

namespace vta {

namespace {

constexpr int64_t kMaxPad = 15;
constexpr int64_t kMaxSize = (1 << 16) - 1;

// Arena element of a position.
int64_t address_of(const Tensor& tensor, int64_t batch, int64_t block, int64_t row, int64_t column) {
  const int64_t plane = batch * tensor.memory_blocks + tensor.first_block + block;
  return tensor.address + (plane * tensor.height + row) * tensor.width + column;
}

[[noreturn]] void fail(const Tensor& tensor, const std::string& what) { throw EmitError(std::string(tensor.name) + ": " + what); }

}  // namespace

bool Box::overlaps(const Tensor& tensor) const {
  if (height < 1 || width < 1) return false;
  return row < tensor.height && row + height > 0 && column < tensor.width && column + width > 0;
}

void load_window(Stream& stream, const Tensor& tensor, const Box& window, int64_t sram) {
  if (!window.overlaps(tensor)) fail(tensor, "a window lies outside of it");
  const int64_t top = std::max<int64_t>(0, -window.row), left = std::max<int64_t>(0, -window.column);
  const int64_t bottom = std::max<int64_t>(0, window.row + window.height - tensor.height);
  const int64_t right = std::max<int64_t>(0, window.column + window.width - tensor.width);
  const int64_t pad = std::max({top, left, bottom, right});
  if (pad > kMaxPad) {
    fail(tensor, "a pad of " + std::to_string(pad) + " exceeds the limit of " + std::to_string(kMaxPad) + " per side");
  }
  const int64_t height = window.height - top - bottom, width = window.width - left - right;
  if (height > 1 && tensor.height > 1 && tensor.width > kMaxSize) {
    fail(tensor, "rows of " + std::to_string(tensor.width) + " elements exceed the stride limit of " + std::to_string(kMaxSize));
  }
  const int64_t start = address_of(tensor, window.batch, window.block, window.row + top, window.column + left);
  const int64_t plane = tensor.height * tensor.width;
  // Rows of full width follow each other in memory, so each block is one run.
  if (pad == 0 && (width == tensor.width || height == 1) && plane <= kMaxSize) {
    stream.load({Memory::kInp, sram, Segment::kArena, start, height * width, window.blocks, plane});
    return;
  }
  for (int64_t block = 0; block < window.blocks; ++block) {
    stream.load({Memory::kInp, sram + block * window.positions(), Segment::kArena, start + block * plane, width, height,
                 height > 1 ? tensor.width : width, top, left, bottom, right});
  }
}

void store_tile(Stream& stream, const Tensor& tensor, const Box& tile, int64_t sram, int64_t plane_number) {
  const int64_t plane = tensor.height * tensor.width;
  const int64_t elements = tensor.batch * tensor.blocks * plane;
  const int64_t start = address_of(tensor, tile.batch, tile.block, tile.row, tile.column) + plane_number * elements;
  if ((tile.width == tensor.width || tile.height == 1) && (plane <= kMaxSize || tile.blocks == 1)) {
    stream.store(sram, start, tile.positions(), tile.blocks, std::min(plane, kMaxSize));
    return;
  }
  for (int64_t block = 0; block < tile.blocks; ++block) {
    const int64_t stride = tile.height > 1 ? tensor.width : tile.width;
    stream.store(sram + block * tile.positions(), start + block * plane, tile.width, tile.height, stride);
  }
}

}  // namespace vta
