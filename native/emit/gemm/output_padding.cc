#include "emit/gemm/output_padding.h"

#include <algorithm>
#include <array>

namespace vta {

namespace {

constexpr int64_t kMaxStride = (1 << 16) - 1;
// Accumulator rows that are filled: more than most paddings need at once, and a loop can count them.
constexpr int64_t kMaxRows = 1 << 11;

// `count` runs of `length` elements, `stride` apart, from an element of a plane on.
struct Runs {
  int64_t start, length, count, stride;
};

// The padding of one plane.
std::array<Runs, 3> padding_of(const vta_gemm_operator& op) {
  const vta_tensor &stored = op.stored, &inner = op.output;
  const int64_t first = op.pad_top * stored.width + op.pad_left;
  // The right end of a row and the left end of the next lie together.
  const int64_t sides = stored.width - inner.width;
  const int64_t last = first + (inner.height - 1) * stored.width + inner.width;
  const int64_t rest = stored.height * stored.width - last;
  return {{{0, first, std::min<int64_t>(first, 1), 1},
           {first + inner.width, sides, sides ? inner.height - 1 : 0, stored.width},
           {last, rest, std::min<int64_t>(rest, 1), 1}}};
}

// Stores as many runs at a time as there are filled rows, from `base` on.
void store_runs(Stream& stream, int64_t plane, const Runs& runs, int64_t base, int64_t rows) {
  const int64_t start = plane + runs.start;
  if (runs.length > rows || (runs.count > 1 && runs.stride > kMaxStride)) {
    for (int64_t run = 0; run < runs.count; ++run) {
      for (int64_t at = 0; at < runs.length; at += rows) {
        const int64_t part = std::min(rows, runs.length - at);
        stream.store(base, start + run * runs.stride + at, part, 1, part);
      }
    }
    return;
  }
  const int64_t most = runs.length ? rows / runs.length : 1;
  for (int64_t run = 0; run < runs.count; run += most) {
    const int64_t part = std::min(most, runs.count - run);
    stream.store(base, start + run * runs.stride, runs.length, part, part > 1 ? runs.stride : runs.length);
  }
}

}  // namespace

void store_output_padding(Stream& stream, const vta_gemm_operator& op, int64_t base) {
  const auto padding = padding_of(op);
  int64_t rows = 0;
  for (const Runs& runs : padding) rows = std::max(rows, runs.length * runs.count);
  rows = std::min({rows, kMaxRows, stream.geometry().depth(Memory::kAcc)});
  if (rows == 0) return;
  base = std::min(base, stream.geometry().depth(Memory::kAcc) - rows);
  stream.gemm({stream.single(base, 0), kNoLoop, {rows, {1, 0, 0}}}, GemmKind::kReset);
  stream.alu(AluOp::kAdd, {stream.single(base, base), kNoLoop, {rows, {1, 1, 0}}}, op.pad_value);
  const vta_tensor& stored = op.stored;
  for (int64_t batch = 0; batch < stored.batch; ++batch) {
    for (int64_t block = 0; block < stored.blocks; ++block) {
      const int64_t number = batch * stored.memory_blocks + stored.first_block + block;
      const int64_t plane = stored.address + number * stored.height * stored.width;
      for (const Runs& runs : padding) store_runs(stream, plane, runs, base, rows);
    }
  }
}

}  // namespace vta
