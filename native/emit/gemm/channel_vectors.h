// The per-channel constants of an operator: in the DRAM image, and in accumulator rows of their own.
#ifndef VTA_EMIT_CHANNEL_VECTORS_H
#define VTA_EMIT_CHANNEL_VECTORS_H

#include <cstdint>

#include "emit/stream.h"
#include "emit/window.h"
#include "vta_stream_gemm.h"

namespace vta {

class ChannelVectors {
 public:
  // Makes room for them in the image.
  ChannelVectors(Stream& stream, const vta_gemm_operator& op, const vta_gemm_schedule& schedule);

  // Brings those that the tile needs into their rows.
  void load(const Box& tile);
  // How far the rows of two that follow each other lie apart.
  int64_t apart(const Box& tile) const { return whole_ ? blocks_ : tile.blocks; }
  // The row of one that belongs to the tile's first channel block.
  int64_t row(int64_t number, const Box& tile) const {
    return base_ + (whole_ ? number * blocks_ + tile.block : number * tile.blocks);
  }

 private:
  Stream& stream_;
  int64_t blocks_, base_;
  bool whole_;  // all channels are on chip, rather than those of one tile
  int64_t count_ = 0;
  int64_t first_ = 0;  // element in the constants
  int64_t loaded_ = -1;
};

}  // namespace vta

#endif
