#include "cycle/costs.h"

#include <algorithm>

namespace vta {

namespace {

template <typename Body>
void for_each_row(const Step& step, const CostContext& context, const Body& body) {
  for (uint32_t row = 0; row < step.rows; ++row) {
    const uint64_t address = step.address + row * step.stride_bytes;
    body(address, count_beats(context.bus, address, step.row_bytes, 0, 1));
  }
}

// The Chisel design.
constexpr uint64_t kTokenCarrier = 2;    // cycles of an instruction that moves nothing
constexpr uint64_t kComputeOverhead = 7;  // cycles of GEMM and ALU beyond one for each micro-op
constexpr uint64_t kLoadPath = 6;         // cycles of a load beyond the latency of the memory and its data
constexpr uint64_t kPadStart = 2;         // cycle in which the first zero is written
constexpr uint64_t kShortRow = 3;         // cycles from a row of one beat to the next row: the commands are the limit
constexpr uint64_t kStoreBurst = 3;       // cycles of a burst beyond its tensors
constexpr uint64_t kStoreStart = 1;

Cost chisel_load(const Step& step, const CostContext& context) {
  uint64_t data = 0;
  uint32_t following = step.rows;
  for_each_row(step, context, [&](uint64_t, uint64_t beats) {
    --following;
    data += beats == 1 && following > 0 ? kShortRow : beats;
  });
  const bool narrow = context.beats_per_element(step.memory) > 1;
  const uint64_t lead = context.timing.read_latency + kLoadPath + (narrow ? 1 : 0) + step.pad_rows_before;
  const bool skips = step.zeros > 0 && step.pads_rows_only;
  const uint64_t padded = step.zeros == 0 ? 0 : kPadStart + data + step.zeros + (skips ? step.rows : 0);
  return {lead, std::max(lead + data, padded) - lead};
}

Cost chisel_store(const Step& step, const CostContext& context) {
  const auto element = static_cast<uint64_t>(context.geometry.elem_bytes(step.memory));
  const uint64_t per_tensor = context.beats_per_element(step.memory) + 1;
  const uint64_t limit = uint64_t{1} << (context.bus.log_bytes + context.bus.log_burst_beats);
  uint64_t cycles = kStoreStart;
  for_each_row(step, context, [&](uint64_t address, uint64_t) {
    const uint64_t bursts = (address + step.row_bytes - 1) / limit - address / limit + 1;
    cycles += per_tensor * (step.row_bytes / element) + kStoreBurst * bursts;
  });
  return {0, cycles};
}

// The HLS design.
constexpr uint64_t kHlsControl = 6;   // cycles from one instruction to the next
constexpr uint64_t kHlsRefill = 8;    // cycles in which the pipeline of an inner loop fills
constexpr uint64_t kHlsRowStart = 3;  // cycles of a row beyond its beats
constexpr uint64_t kHlsAluInterval = 2;

}  // namespace

uint64_t CostContext::beats_per_element(Memory memory) const {
  return uint64_t{1} << std::max(0, geometry.log_elem_bytes[static_cast<size_t>(memory)] - bus.log_bytes);
}

uint64_t CostContext::beats(const Step& step) const {
  return count_beats(bus, step.address, step.row_bytes, step.stride_bytes, step.rows);
}

Cost ChiselCosts::cost(const Step& step, const CostContext& context) const {
  switch (step.opcode) {
    case Opcode::kGemm:
    case Opcode::kDepthwise:
      return {0, step.uops + kComputeOverhead};
    case Opcode::kAlu:
      return {0, step.uops * (step.two_operands ? 2 : 1) + kComputeOverhead};
    case Opcode::kLoad:
      return step.rows == 0 ? Cost{0, kTokenCarrier} : chisel_load(step, context);
    case Opcode::kStore:
      return step.rows == 0 ? Cost{0, kTokenCarrier} : chisel_store(step, context);
    default:
      return {0, kTokenCarrier};
  }
}

FetchCost ChiselCosts::fetch(const CostContext& context) const {
  const uint64_t beats = std::max<uint64_t>(1, kInstructionBytes >> context.bus.log_bytes);
  return {std::max<uint64_t>(1, context.timing.burst_beats / 2), context.timing.read_latency + 5, beats, 1};
}

Cost HlsCosts::cost(const Step& step, const CostContext& context) const {
  if (step.opcode == Opcode::kGemm || step.opcode == Opcode::kAlu) {
    const uint64_t interval = step.opcode == Opcode::kAlu ? kHlsAluInterval : 1;
    return {0, kHlsControl + step.uops * interval + step.inner_loops * kHlsRefill};
  }
  if (step.rows == 0) return {0, kHlsControl};
  const uint64_t rows = step.rows * kHlsRowStart;
  return {kHlsControl + context.timing.read_latency, context.beats(step) + rows + step.zeros};
}

FetchCost HlsCosts::fetch(const CostContext& context) const {
  const uint64_t beats = std::max<uint64_t>(1, kInstructionBytes >> context.bus.log_bytes);
  return {1, 0, beats, 1};
}

}  // namespace vta
