// Loads of windows of packed tensors and stores of tiles, cut into transfers that the hardware can do.
#ifndef VTA_EMIT_WINDOW_H
#define VTA_EMIT_WINDOW_H

#include <cstdint>

#include "emit/stream.h"
#include "vta_stream.h"

namespace vta {

using Tensor = vta_tensor;

// Part of a tensor, or rows of a buffer that hold it: [blocks][height][width].
struct Box : vta_box {
  Box(const vta_box& box) : vta_box(box) {}
  Box(int64_t batch, int64_t block, int64_t row, int64_t column, int64_t blocks, int64_t height, int64_t width)
      : vta_box{batch, block, row, column, blocks, height, width} {}

  int64_t positions() const { return height * width; }
  int64_t rows() const { return blocks * positions(); }
  // Whether any of it lies inside the tensor; nothing of an empty one does.
  bool overlaps(const Tensor& tensor) const;
};

// Emits the LOADs of a window that overlaps the tensor into input rows from `sram` on. Throws EmitError if it does not, or if a
// pad or stride exceeds what an instruction holds.
void load_window(Stream& stream, const Tensor& tensor, const Box& window, int64_t sram);

// Emits the STOREs of a tile that lies densely in output rows from `sram` on; `plane` is that of the tensor in memory.
void store_tile(Stream& stream, const Tensor& tensor, const Box& tile, int64_t sram, int64_t plane = 0);

}  // namespace vta

#endif
