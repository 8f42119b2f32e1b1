#include "emit/gemm/channel_vectors.h"

#include <algorithm>

namespace vta {

ChannelVectors::ChannelVectors(Stream& stream, const vta_gemm_operator& op, const vta_gemm_schedule& schedule)
    : stream_(stream), blocks_(op.output.blocks), base_(schedule.acc_base), whole_(schedule.vectors_whole != 0) {
  count_ = op.accumulator_init ? 1 : 0;
  for (int64_t i = 0; i < op.step_count; ++i) {
    const vta_epilogue_step& step = op.steps[i];
    if (step.kind == VTA_STEP_VECTOR) count_ += std::max<int64_t>(1, step.phases[0] * step.phases[1]);
    if (step.kind == VTA_STEP_REQUANTIZE) count_ += kRequantizeParameters;
  }
  // One after the other in memory, so that one load brings all.
  for (int64_t number = 0; number < count_; ++number) {
    vta_constant constant{};
    constant.kind = VTA_CONSTANT_VECTOR;
    constant.number = number;
    constant.nbytes = blocks_ * stream.geometry().elem_bytes(Memory::kAcc);
    const int64_t index = stream.add_constant(constant, Memory::kAcc);
    if (number == 0) first_ = index;
  }
}

void ChannelVectors::load(const Box& tile) {
  const int64_t wanted = whole_ ? 0 : tile.block;
  if (count_ == 0 || loaded_ == wanted) return;
  loaded_ = wanted;
  if (whole_) {
    stream_.load({Memory::kAcc, base_, Segment::kConstants, first_, count_ * blocks_});
  } else {
    stream_.load({Memory::kAcc, base_, Segment::kConstants, first_ + tile.block, tile.blocks, count_, blocks_});
  }
}

}  // namespace vta
