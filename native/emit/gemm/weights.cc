#include "emit/gemm/weights.h"

#include <string>

#include "emit/emit_error.h"

namespace vta {

namespace {

// The weight blocks of one reduction step.
vta_constant box_of(const Term& t, const Box& tile, const ReductionStep& step) {
  vta_constant box{};
  box.kind = VTA_CONSTANT_WEIGHTS;
  if (t.diagonal) {
    box.out = shared_weights(t) ? 0 : tile.block + step.block;
    box.out_count = shared_weights(t) ? 1 : step.blocks;
    box.in_count = 1;
  } else {
    box.out = tile.block;
    box.out_count = tile.blocks;
    box.in = step.block;
    box.in_count = step.blocks;
  }
  box.kh = t.window ? 0 : step.kh;
  box.kh_count = t.window ? 1 : step.kh_count;
  box.kw = t.window ? 0 : step.kw;
  box.kw_count = t.window ? 1 : step.kw_count;
  return box;
}

int64_t blocks_of(const vta_constant& box) { return box.out_count * box.in_count * box.kh_count * box.kw_count; }

}  // namespace

std::vector<WeightBlock> nonzero_blocks(const Term& t, const Box& tile, const ReductionStep& step) {
  const vta_constant box = box_of(t, tile, step);
  const int64_t inputs = t.diagonal ? 1 : t.source.blocks;
  const int64_t height = t.window ? 1 : t.kernel[0], width = t.window ? 1 : t.kernel[1];
  std::vector<WeightBlock> found;
  for (int64_t out = 0; out < box.out_count; ++out) {
    for (int64_t in = 0; in < box.in_count; ++in) {
      const int64_t plane = (box.out + out) * inputs + box.in + in;
      for (int64_t kh = 0; kh < box.kh_count; ++kh) {
        const uint8_t* row = t.nonzero + (plane * height + box.kh + kh) * width + box.kw;
        for (int64_t kw = 0; kw < box.kw_count; ++kw) {
          if (row[kw]) found.push_back({out, in, kh, kw});
        }
      }
    }
  }
  return found;
}

Weights::Weights(Stream& stream, const vta_gemm_operator& op, const vta_gemm_schedule& schedule)
    : stream_(stream),
      terms_(op.terms),
      slots_(schedule.wgt_base + schedule.wgt_fixed, schedule.wgt_slot, schedule.wgt_slots),
      fixed_at_(static_cast<size_t>(op.term_count), {-1, -1}) {
  int64_t base = schedule.wgt_base;
  for (int64_t i = 0; i < op.term_count; ++i) {
    fixed_base_.push_back(base);
    base += fixed_rows(op.terms[i], schedule.tile_co);
  }
}

int64_t Weights::rows(int64_t index, const Box& tile, const ReductionStep& step, int64_t kept) {
  const Term& t = terms_[index];
  if (t.computed) return computed(index, tile, step);
  if (fixed_weights(t)) return fixed(index, tile, step);
  const Key key = {index,   shared_weights(t) ? 0 : tile.block, step.block, step.blocks, step.kh, step.kh_count,
                   step.kw, step.kw_count};
  if (const auto found = slots_.find(key)) return *found;
  const int64_t row = slots_.take(key);
  vta_constant what = box_of(t, tile, step);
  what.number = index;
  what.kept = keeps_blocks(t);
  load(key, row, what, what.kept ? kept : blocks_of(what));
  return row;
}

// Weights that the program itself has stored: on chip [in][out], as in memory, so that one load brings them.
int64_t Weights::computed(int64_t index, const Box& tile, const ReductionStep& step) {
  const vta_tensor& w = terms_[index].weights;
  const Key key = {index, tile.batch, tile.block, step.block, step.blocks};
  if (const auto found = slots_.find(key)) return *found;
  const int64_t row = slots_.take(key), lanes = stream_.geometry().block;
  const int64_t first = w.address + (tile.batch * w.memory_blocks + w.first_block + step.block) * w.width;
  if (w.height != 1 || w.width % lanes || first % lanes) throw EmitError(std::string(w.name) + ": computed weights must fill blocks");
  const int64_t across = w.width / lanes;
  stream_.load({Memory::kWgt, row, Segment::kArena, first / lanes + tile.block, tile.blocks, step.blocks, across});
  return row;
}

int64_t Weights::fixed(int64_t index, const Box& tile, const ReductionStep& step) {
  const Term& t = terms_[index];
  const bool shared = shared_weights(t);
  const int64_t base = fixed_base_[index];
  const std::pair<int64_t, int64_t> wanted = {shared ? 0 : tile.block, shared ? 1 : tile.blocks};
  if (fixed_at_[index] != wanted) {
    fixed_at_[index] = wanted;
    vta_constant what = box_of(t, tile, {0, tile.blocks, 0, 1, 0, 1});
    what.number = index;
    load({index, wanted.first, wanted.second}, base, what, wanted.second);
  }
  return shared ? base : base + step.block;
}

void Weights::load(const Key& key, int64_t sram, const vta_constant& what, int64_t blocks) {
  const auto [found, added] = constants_.try_emplace(key, -1);
  if (added) {
    vta_constant constant = what;
    constant.nbytes = blocks * stream_.geometry().elem_bytes(Memory::kWgt);
    found->second = stream_.add_constant(constant, Memory::kWgt);
  }
  stream_.load({Memory::kWgt, sram, Segment::kConstants, found->second, blocks});
}

}  // namespace vta
