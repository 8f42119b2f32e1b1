#include "emit/gemm/reduction.h"

#include <algorithm>

namespace vta {

namespace {

constexpr int64_t kMaxExtent = (1 << 14) - 1;

Box window_of(const Term& t, const Box& tile, const ReductionStep& step) {
  const auto [row, height] = rows_read(t, 0, tile.row, tile.height, step.kh, step.kh_count);
  const auto [column, width] = rows_read(t, 1, tile.column, tile.width, step.kw, step.kw_count);
  return {tile.batch, step.block + (t.diagonal ? tile.block : 0), row, column, step.blocks, height, width};
}

GemmKind kind_of(const Term& t) {
  if (t.taps > 1) return t.is_transfer ? GemmKind::kDepthwiseTransfer : GemmKind::kDepthwise;
  return t.is_transfer ? GemmKind::kTransfer : GemmKind::kMultiply;
}

}  // namespace

Reduction::Reduction(Stream& stream, const vta_gemm_operator& op, const vta_gemm_schedule& schedule)
    : stream_(stream),
      terms_(op.terms),
      schedule_(schedule),
      inputs_(schedule.inp_base, schedule.inp_slot, schedule.inp_slots),
      weights_(stream, op, schedule) {}

bool Reduction::can_finish(int64_t index) const {
  const Term& t = terms_[index];
  return !t.nonzero && !dilated(t) && stream_.gemm_limits().dst_distance == 1;
}

void Reduction::add(int64_t index, const Box& tile, int64_t acc, Unwritten& unwritten, Finishing* finishing) {
  const std::vector<ReductionStep> steps = steps_of(terms_[index], tile);
  for (size_t i = 0; i < steps.size(); ++i) {
    // Those of a diagonal term have channel blocks of their own.
    const bool last = i + 1 == steps.size() || (terms_[index].diagonal && steps[i + 1].block != steps[i].block);
    add_step(index, tile, steps[i], acc, unwritten, last ? finishing : nullptr);
  }
}

// Those whose window is not all padding.
std::vector<ReductionStep> Reduction::steps_of(const Term& t, const Box& tile) const {
  std::vector<ReductionStep> steps;
  const vta_gemm_schedule& s = schedule_;
  const int64_t kh = std::min(t.kernel[0], s.tile_kh), kw = std::min(t.kernel[1], s.tile_kw);
  const int64_t total = t.diagonal ? tile.blocks : t.source.blocks;
  int64_t blocks = std::min(t.source.blocks, s.tile_ci);
  if (t.diagonal) {
    const int64_t window = max_rows(t, 0, tile.height, kh) * max_rows(t, 1, tile.width, kw);
    blocks = std::min({t.source.blocks, s.tile_co, pointwise(t) ? s.tile_co : s.tile_ci});
    blocks = std::max<int64_t>(1, std::min(blocks, s.inp_slot / window));
  }
  for (int64_t block = 0; block < total; block += blocks) {
    for (int64_t row = 0; row < t.kernel[0]; row += kh) {
      for (int64_t column = 0; column < t.kernel[1]; column += kw) {
        const ReductionStep step = {block,  std::min(blocks, total - block), row, std::min(kh, t.kernel[0] - row),
                                    column, std::min(kw, t.kernel[1] - column)};
        if (window_of(t, tile, step).overlaps(t.source)) steps.push_back(step);
      }
    }
  }
  return steps;
}

void Reduction::add_step(int64_t index, const Box& tile, const ReductionStep& step, int64_t acc, Unwritten& unwritten,
                         Finishing* finishing) {
  const Term& t = terms_[index];
  const Box window = window_of(t, tile, step);
  const Blocks* blocks = t.nonzero ? &kept(index, tile, step) : nullptr;
  if (blocks && blocks->empty()) return;
  const bool sparse = keeps_blocks(t);
  const int64_t first = t.diagonal ? step.block : 0;
  if (sparse) {
    for (const WeightBlock& block : *blocks) unwritten.write(first + block.out, 1);
  } else {
    unwritten.write(first, t.diagonal ? step.blocks : tile.blocks);
  }
  const int64_t wgt = weights_.rows(index, tile, step, sparse ? static_cast<int64_t>(blocks->size()) : 0);
  const Rows base = {acc, input_rows(t, window), wgt};
  const GemmKind kind = kind_of(t);
  const int64_t uops = (t.diagonal ? 1 : step.blocks) * step.kh_count * step.kw_count;
  if (finishing && uops <= stream_.gemm_limits().uop_depth && std::max(tile.height, tile.width) <= kMaxExtent) {
    return finish_step(index, tile, step, window, base, kind, *finishing);
  }
  const Nest& nest = sparse ? sparse_nest(index, tile, step, window, base, *blocks) : dense_nest(index, tile, step, window, base);
  for (const LoopedUops& part : nest) stream_.gemm(part, kind);
}

// One instruction for each channel block, as each has parameters of its own.
void Reduction::finish_step(int64_t index, const Box& tile, const ReductionStep& step, const Box& window, const Rows& base,
                            GemmKind kind, Finishing& finishing) {
  const bool diagonal = terms_[index].diagonal;
  const int64_t first = diagonal ? step.block : 0, blocks = diagonal ? step.blocks : tile.blocks;
  for (int64_t block = 0; block < blocks; ++block) {
    finishing.keep(first + block);
    stream_.gemm(finishing_nest(index, tile, step, window, base, block), kind, true);
  }
}

// All products of a place follow each other, and the loops go over places. `block` counts from the first of the step.
const LoopedUops& Reduction::finishing_nest(int64_t index, const Box& tile, const ReductionStep& step, const Box& window,
                                            const Rows& base, int64_t block) {
  const Term& t = terms_[index];
  const AccessMap rows = access_maps(t, 0, tile.row, tile.height, step.kh, step.kh_count, false).front();
  const AccessMap columns = access_maps(t, 1, tile.column, tile.width, step.kw, step.kw_count, false).front();
  const auto [found, added] = finishing_nests_.try_emplace(
      {index, block, tile.blocks, tile.height, tile.width, window.height, window.width, step.block, step.blocks, step.kh_count,
       step.kw_count, base[0], base[1], base[2], rows.row, columns.row});
  if (!added) return found->second;
  const int64_t width = window.width, plane = window.positions(), kernel = t.window ? 1 : step.kh_count * step.kw_count;
  const int64_t weights = t.diagonal ? (shared_weights(t) ? 0 : block) : t.computed ? block : block * step.blocks;
  const int64_t next_in = t.computed ? tile.blocks : kernel;
  const Rows start = {base[0] + ((t.diagonal ? step.block : 0) + block) * tile.positions(),
                      base[1] + (t.diagonal ? block : 0) * plane + rows.row * width + columns.row, base[2] + weights * kernel};
  Uops uops;
  for (int64_t in = 0; in < (t.diagonal ? 1 : step.blocks); ++in) {
    for (int64_t kh = 0; kh < step.kh_count; ++kh) {
      for (int64_t kw = 0; kw < step.kw_count; ++kw) {
        const int64_t place = kh * rows.row_per_kernel * width + kw * columns.row_per_kernel;
        const int64_t within = t.window ? 0 : kh * step.kw_count + kw;
        uops.push_back({start[0], start[1] + in * plane + place, start[2] + in * next_in + within});
      }
    }
  }
  const Dim outer = {tile.height, {tile.width, rows.row_per_output * width, 0}};
  const Dim inner = {tile.width, {1, columns.row_per_output, 0}};
  return found->second = {stream_.sequence(uops.data(), static_cast<int64_t>(uops.size())), outer, inner};
}

const Reduction::Blocks& Reduction::kept(int64_t index, const Box& tile, const ReductionStep& step) {
  const auto [found, added] = kept_.try_emplace(
      {index, tile.block, tile.blocks, step.block, step.blocks, step.kh, step.kh_count, step.kw, step.kw_count});
  if (added) found->second = nonzero_blocks(terms_[index], tile, step);
  return found->second;
}

int64_t Reduction::input_rows(const Term& t, const Box& w) {
  const Key key = {t.source_number, w.batch, w.block, w.row, w.column, w.blocks, w.height, w.width};
  if (const auto found = inputs_.find(key)) return *found;
  const int64_t row = inputs_.take(key);
  load_window(stream_, t.source, w, row);
  return row;
}

const Reduction::Nest& Reduction::dense_nest(int64_t index, const Box& tile, const ReductionStep& step, const Box& window,
                                             const Rows& base) {
  const Term& t = terms_[index];
  const auto rows = access_maps(t, 0, tile.row, tile.height, step.kh, step.kh_count, schedule_.skip_padding);
  const auto columns = access_maps(t, 1, tile.column, tile.width, step.kw, step.kw_count, schedule_.skip_padding);
  Key key = {index,         tile.blocks,   tile.height,   tile.width, window.height, window.width, step.blocks,
             step.kh_count, step.kw_count, t.diagonal ? step.block : 0, base[0], base[1], base[2],
             static_cast<int64_t>(rows.size())};
  for (const auto* axis : {&rows, &columns}) {
    for (const AccessMap& map : *axis) {
      key.insert(key.end(), {map.kernel, map.kernel_count, map.output, map.output_count, map.row});
    }
  }
  const auto [found, added] = nests_.try_emplace(std::move(key));
  if (!added) return found->second;
  const Rows first = {base[0] + (t.diagonal ? step.block * tile.positions() : 0), base[1], base[2]};
  std::vector<Folded> folded;
  for (const AccessMap& row : rows) {
    for (const AccessMap& column : columns) fold_box(t, tile, step, window, row, column, first, folded);
  }
  for (const Folded& part : folded) {
    const int64_t sequence = stream_.sequence(part.uops.data(), static_cast<int64_t>(part.uops.size()));
    found->second.push_back({sequence, part.outer, part.inner});
  }
  return found->second;
}

// The loops of one box of a reduction step.
void Reduction::fold_box(const Term& t, const Box& tile, const ReductionStep& step, const Box& window, const AccessMap& row,
                         const AccessMap& column, const Rows& base, std::vector<Folded>& folded) const {
  const int64_t kernel = t.window ? 1 : step.kh_count * step.kw_count;
  const int64_t kernel_down = t.window ? 0 : step.kw_count, kernel_across = t.window ? 0 : 1;
  const int64_t width = window.width, plane = window.positions();
  const bool shared = t.diagonal && shared_weights(t);
  // Weights lie [out][in] on chip, computed ones [in][out].
  const int64_t next_in = t.computed ? tile.blocks : kernel, next_out = t.computed ? 1 : step.blocks * kernel;
  std::vector<Dim> dims = {{step.blocks, {t.diagonal ? tile.positions() : 0, plane, shared ? 0 : next_in}}};
  if (!t.diagonal) dims.push_back({tile.blocks, {tile.positions(), 0, next_out}});
  dims.push_back({row.output_count, {row.output_step * tile.width, row.row_per_output * width, 0}});
  dims.push_back({column.output_count, {column.output_step, column.row_per_output, 0}});
  dims.push_back({row.kernel_count, {0, row.row_per_kernel * width, row.kernel_step * kernel_down}});
  dims.push_back({column.kernel_count, {0, column.row_per_kernel, column.kernel_step * kernel_across}});
  const Rows start = {base[0] + row.output * tile.width + column.output, base[1] + row.row * width + column.row,
                      base[2] + row.kernel * kernel_down + column.kernel * kernel_across};
  fold(std::move(dims), start, stream_.gemm_limits(), folded);
}

// One micro-op for each weight block that is not zero, which are the only ones on chip, at every position of the tile.
const Reduction::Nest& Reduction::sparse_nest(int64_t index, const Box& tile, const ReductionStep& step, const Box& window,
                                              const Rows& base, const Blocks& kept) {
  const Term& t = terms_[index];
  const auto [found, added] = nests_.try_emplace(
      {index, tile.block, tile.blocks, tile.height, tile.width, window.height, window.width, step.block, step.blocks, step.kh,
       step.kh_count, step.kw, step.kw_count, base[0], base[1], base[2]});
  if (!added) return found->second;
  Uops uops;
  for (const WeightBlock& block : kept) {
    const int64_t out = t.diagonal ? block.out + step.block : block.out, source = t.diagonal ? block.out : block.in;
    const int64_t row = source * window.height + block.kh * t.dilation[0];
    uops.push_back({base[0] + out * tile.positions(), base[1] + row * window.width + block.kw * t.dilation[1],
                    base[2] + static_cast<int64_t>(uops.size())});
  }
  const Dim outer = {tile.height, {tile.width, t.strides[0] * window.width, 0}}, inner = {tile.width, {1, t.strides[1], 0}};
  const FoldLimits& limits = stream_.gemm_limits();
  const int64_t total = static_cast<int64_t>(uops.size());
  const int64_t most = spaced(uops, limits.dst_distance) ? limits.uop_depth : 1;
  for (int64_t at = 0; at < total; at += most) {
    found->second.push_back({stream_.sequence(uops.data() + at, std::min(most, total - at)), outer, inner});
  }
  return found->second;
}

}  // namespace vta
