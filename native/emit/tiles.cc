#include <algorithm>
#include <unordered_map>
#include <vector>

#include "emit/reach.h"
#include "emit/stream.h"
#include "vta_emit.h"

namespace vta {

namespace {

constexpr int64_t kMaxPad = 15;
constexpr int64_t kMaxSize = (1 << 16) - 1;
constexpr int64_t kMax = 1, kShr = 3;

struct Tile {
  int64_t batch, block, row, column, blocks, height, width;
  int64_t positions() const { return height * width; }
  int64_t rows() const { return blocks * positions(); }
};

struct Step {
  int64_t block, blocks, kh, kh_count, kw, kw_count;
};

struct Window {
  int64_t batch, block, blocks, row, column, height, width;
};

using Key = std::vector<int64_t>;

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t hash = key.size();
    for (int64_t value : key) hash = (hash ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15u ^ hash >> 29;
    return hash;
  }
};

// A buffer region cut into equal slots, filled in turn.
class Slots {
 public:
  Slots(int64_t base, int64_t size, int64_t count) : base_(base), size_(size), keys_(count) {}

  int64_t find(const Key& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? -1 : found->second;
  }

  int64_t take(const Key& key) {
    const size_t slot = next_;
    next_ = (next_ + 1) % keys_.size();
    rows_.erase(keys_[slot]);
    keys_[slot] = key;
    return rows_[key] = base_ + static_cast<int64_t>(slot) * size_;
  }

 private:
  int64_t base_, size_;
  std::vector<Key> keys_;
  std::unordered_map<Key, int64_t, KeyHash> rows_;
  size_t next_ = 0;
};

struct Emitted {
  int64_t sequence;
  Dim outer, inner;
};

class Emitter {
 public:
  Emitter(const vta_emit_operator& op, const vta_emit_schedule& schedule, const vta_emit_target& target)
      : op_(op),
        s_(schedule),
        geometry_(target.geometry),
        stream_(target),
        limits_{{geometry_.depth(Memory::kAcc), geometry_.depth(Memory::kInp), geometry_.depth(Memory::kWgt)},
                target.uop_depth,
                target.uop_dst_distance},
        inp_(0, schedule.inp_slot, schedule.inp_slots),
        wgt_(schedule.wgt_fixed, schedule.wgt_slot, schedule.wgt_slots) {
    int64_t levels = op.level_end;
    if (op.preload) add_vector();
    for (int64_t i = 0; i < op.step_count; ++i) {
      if (op.steps[i].kind == VTA_STEP_TENSOR) levels = op.steps[i].level_end;
      if (op.steps[i].kind != VTA_STEP_VECTOR) continue;
      add_vector();
    }
    const int64_t terms = levels ? op.levels[levels - 1].term_end : 0;
    settled_.assign(s_.acc_slots, 0);
    reaches_all_ = !s_.skip_padding && std::none_of(op.terms, op.terms + terms, dilated);
    fixed_base_.resize(terms);
    fixed_at_.assign(terms, {-1, -1});
    int64_t base = 0;
    for (int64_t t = 0; t < terms; ++t) {
      fixed_base_[t] = base;
      if (fixed(op.terms[t])) base += std::min(op.terms[t].weight_blocks, s_.tile_co);
    }
  }

  // The stream with all tiles; nothing if something does not fit.
  EmitStream* run() {
    const int64_t rows = ceil_div(op_.height, s_.tile_h), columns = ceil_div(op_.width, s_.tile_w);
    const int64_t channels = ceil_div(op_.blocks, s_.tile_co), places = op_.batch * rows * columns;
    for (int64_t i = 0; i < channels * places && !failed_; ++i) {
      const int64_t channel = s_.weights_outer ? i / places : i % channels;
      const int64_t place = s_.weights_outer ? i % places : i / channels;
      const int64_t block = channel * s_.tile_co;
      const int64_t row = place / columns % rows * s_.tile_h, column = place % columns * s_.tile_w;
      emit({place / (rows * columns), block, row, column, std::min(s_.tile_co, op_.blocks - block),
            std::min(s_.tile_h, op_.height - row), std::min(s_.tile_w, op_.width - column)});
    }
    return failed_ || stream_.failed() ? nullptr : &stream_;
  }

 private:
  static bool pointwise(const vta_emit_term& t) {
    const bool in_place = t.strides[0] == 1 && t.strides[1] == 1 && t.padding[0] == 0 && t.padding[1] == 0;
    return in_place && t.kernel[0] == 1 && t.kernel[1] == 1 && !dilated(t);
  }
  static bool dilated(const vta_emit_term& t) { return t.source_dilation[0] != 1 || t.source_dilation[1] != 1; }
  static bool fixed(const vta_emit_term& t) { return t.diagonal && pointwise(t); }

  int64_t single(int64_t dst, int64_t src) { return stream_.intern({{dst, src, 0}}); }

  void emit(const Tile& tile) {
    acc_slot_ = (acc_slot_ + 1) % s_.acc_slots;
    const int64_t acc = s_.vectors + acc_slot_ * s_.acc_slot;
    load_vectors(tile);
    start(tile, acc);
    const bool computed = accumulate(0, op_.level_end, tile, acc);
    if (op_.step_count == 0 && !(computed && reaches_all_)) immediate(kShr, 0, tile, acc);
    int64_t vector = op_.preload ? 1 : 0, level = op_.level_end;
    for (int64_t i = 0; i < op_.step_count; ++i) {
      const vta_emit_step& step = op_.steps[i];
      if (step.kind == VTA_STEP_VECTOR) {
        vector_step(step.op, tile, acc, vector++);
      } else if (step.kind == VTA_STEP_TENSOR) {
        const int64_t scratch = acc + s_.acc_tile;
        reset(tile, scratch);
        accumulate(level, step.level_end, tile, scratch);
        level = step.level_end;
        stream_.alu(step.op, single(acc, scratch), kNoLoop, {tile.rows(), {1, 1, 0}}, false, 0);
      } else {
        immediate(step.op, step.imm, tile, acc);
      }
    }
    for (int64_t plane = 0; plane < op_.planes; ++plane) {
      if (plane) immediate(kShr, 8, tile, acc);
      store(acc, op_.address + plane * op_.batch * op_.blocks * op_.height * op_.width, tile);
    }
  }

  void add_vector() {
    vectors_.push_back(stream_.add_constant(op_.blocks * geometry_.elem_bytes(Memory::kAcc), Memory::kAcc));
  }

  void start(const Tile& tile, int64_t acc) {
    int64_t& settled = settled_[acc_slot_];
    if (!op_.preload || settled < tile.rows()) reset(tile, acc);
    if (!op_.preload) return;
    settled = std::max(settled, tile.rows());
    vector_step(kMax, tile, acc, 0);
  }

  void reset(const Tile& tile, int64_t acc) { stream_.gemm(single(acc, 0), kNoLoop, {tile.rows(), {1, 0, 0}}, true); }

  void store(int64_t sram, int64_t address, const Tile& tile) {
    const int64_t plane = op_.height * op_.width;
    const int64_t start = address + ((tile.batch * op_.blocks + tile.block) * op_.height + tile.row) * op_.width + tile.column;
    if ((tile.width == op_.width || tile.height == 1) && (plane <= kMaxSize || tile.blocks == 1)) {
      stream_.store(sram, start, tile.positions(), tile.blocks, std::min(plane, kMaxSize));
      return;
    }
    for (int64_t block = 0; block < tile.blocks; ++block) {
      const int64_t stride = tile.height > 1 ? op_.width : tile.width;
      stream_.store(sram + block * tile.positions(), start + block * plane, tile.width, tile.height, stride);
    }
  }

  void immediate(int64_t op, int64_t value, const Tile& tile, int64_t acc) {
    stream_.alu(op, single(acc, acc), kNoLoop, {tile.rows(), {1, 1, 0}}, true, value);
  }

  void vector_step(int64_t op, const Tile& tile, int64_t acc, int64_t number) {
    const int64_t row = s_.vectors_whole ? number * op_.blocks + tile.block : number * tile.blocks;
    const bool many = tile.blocks > 1;
    const Dim outer = {tile.blocks, {many ? tile.positions() : 0, many ? 1 : 0, 0}};
    stream_.alu(op, single(acc, row), outer, {tile.positions(), {1, 0, 0}}, false, 0);
  }

  void load_vectors(const Tile& tile) {
    const int64_t wanted = s_.vectors_whole ? 0 : tile.block;
    if (vectors_.empty() || vectors_at_ == wanted) return;
    vectors_at_ = wanted;
    // One after the other in memory, so that one load brings all.
    const int64_t count = static_cast<int64_t>(vectors_.size());
    if (s_.vectors_whole) {
      stream_.load({Memory::kAcc, 0, Segment::kConstants, vectors_[0], count * op_.blocks});
    } else {
      stream_.load({Memory::kAcc, 0, Segment::kConstants, vectors_[0] + tile.block, tile.blocks, count, op_.blocks});
    }
  }

  bool accumulate(int64_t level, int64_t level_end, const Tile& tile, int64_t acc) {
    const int64_t before = stream_.size();
    int64_t term = level ? op_.levels[level - 1].term_end : 0;
    for (; level < level_end; ++level) {
      if (op_.levels[level].shift) immediate(kShr, -op_.levels[level].shift, tile, acc);
      for (; term < op_.levels[level].term_end; ++term) reduce_term(term, tile, acc);
    }
    return stream_.size() > before;
  }

  void reduce_term(int64_t index, const Tile& tile, int64_t acc) {
    const vta_emit_term& t = op_.terms[index];
    const int64_t kh = std::min(t.kernel[0], s_.tile_kh), kw = std::min(t.kernel[1], s_.tile_kw);
    const int64_t total = t.diagonal ? tile.blocks : t.source_blocks;
    int64_t blocks = std::min(t.source_blocks, s_.tile_ci);
    if (t.diagonal) {
      blocks = std::min({t.source_blocks, s_.tile_co, pointwise(t) ? s_.tile_co : s_.tile_ci});
      blocks = std::max<int64_t>(1, std::min(blocks, s_.inp_slot / (max_rows(t, 0, tile.height, kh) * max_rows(t, 1, tile.width, kw))));
    }
    for (int64_t block = 0; block < total; block += blocks) {
      for (int64_t row = 0; row < t.kernel[0]; row += kh) {
        for (int64_t column = 0; column < t.kernel[1]; column += kw) {
          reduce(index, tile, acc,
                 {block, std::min(blocks, total - block), row, std::min(kh, t.kernel[0] - row), column,
                  std::min(kw, t.kernel[1] - column)});
        }
      }
    }
  }

  void reduce(int64_t index, const Tile& tile, int64_t acc, const Step& step) {
    const vta_emit_term& t = op_.terms[index];
    const auto [row, height] = rows_read(t, 0, tile.row, tile.height, step.kh, step.kh_count);
    const auto [column, width] = rows_read(t, 1, tile.column, tile.width, step.kw, step.kw_count);
    const int64_t first = step.block + (t.diagonal ? tile.block : 0);
    const Window window = {tile.batch, first, step.blocks, row, column, height, width};
    if (height < 1 || width < 1) return;
    if (window.row >= t.source_height || window.row + window.height <= 0) return;
    if (window.column >= t.source_width || window.column + window.width <= 0) return;
    const int64_t wgt = weight_rows(index, tile, step);
    const int64_t inp = input_rows(t, window);
    const auto rows = reaches(t, 0, tile.row, tile.height, step.kh, step.kh_count, s_.skip_padding);
    const auto columns = reaches(t, 1, tile.column, tile.width, step.kw, step.kw_count, s_.skip_padding);
    for (const Emitted& part : nests(index, tile, step, window, rows, columns, {acc, inp, wgt})) {
      stream_.gemm(part.sequence, part.outer, part.inner, false);
    }
  }

  const std::vector<Emitted>& nests(int64_t index, const Tile& tile, const Step& step, const Window& window,
                                    const std::vector<Reach>& rows, const std::vector<Reach>& columns, const Rows& at) {
    const vta_emit_term& t = op_.terms[index];
    Key key = {index, tile.blocks, tile.height, tile.width, window.height, window.width, step.blocks, step.kh_count, step.kw_count,
               t.diagonal ? step.block : 0, at[0], at[1], at[2]};
    key.push_back(static_cast<int64_t>(rows.size()));
    for (const auto* reaches : {&rows, &columns}) {
      for (const Reach& reach : *reaches) {
        key.insert(key.end(), {reach.kernel, reach.kernel_count, reach.output, reach.output_count, reach.row});
      }
    }
    const auto [found, added] = nests_.try_emplace(key);
    if (!added) return found->second;
    const int64_t first = at[0] + (t.diagonal ? step.block * tile.positions() : 0);
    std::vector<Folded> folded;
    for (const Reach& row : rows) {
      for (const Reach& column : columns) {
        if (!fold_box(t, tile, step, window, row, column, {first, at[1], at[2]}, folded)) failed_ = true;
      }
    }
    for (const Folded& part : folded) found->second.push_back({stream_.intern(part.uops), part.outer, part.inner});
    return found->second;
  }

  bool fold_box(const vta_emit_term& t, const Tile& tile, const Step& step, const Window& window, const Reach& row,
                const Reach& column, const Rows& at, std::vector<Folded>& folded) const {
    const bool shared = t.diagonal && t.weight_blocks == 1;
    const int64_t kernel = t.window ? 1 : step.kh_count * step.kw_count;
    const int64_t kernel_down = t.window ? 0 : step.kw_count, kernel_across = t.window ? 0 : 1;
    const int64_t width = window.width, plane = window.height * window.width;
    std::vector<Dim> dims = {{step.blocks, {t.diagonal ? tile.positions() : 0, plane, shared ? 0 : kernel}}};
    if (!t.diagonal) dims.push_back({tile.blocks, {tile.positions(), 0, step.blocks * kernel}});
    dims.push_back({row.output_count, {row.output_step * tile.width, row.row_per_output * width, 0}});
    dims.push_back({column.output_count, {column.output_step, column.row_per_output, 0}});
    dims.push_back({row.kernel_count, {0, row.row_per_kernel * width, row.kernel_step * kernel_down}});
    dims.push_back({column.kernel_count, {0, column.row_per_kernel, column.kernel_step * kernel_across}});
    const Rows base = {at[0] + row.output * tile.width + column.output, at[1] + row.row * width + column.row,
                       at[2] + row.kernel * kernel_down + column.kernel * kernel_across};
    return fold(dims, base, limits_, folded);
  }

  int64_t input_rows(const vta_emit_term& t, const Window& w) {
    const Key key = {t.source, w.batch, w.block, w.blocks, w.row, w.column, w.height, w.width};
    int64_t row = inp_.find(key);
    if (row >= 0) return row;
    row = inp_.take(key);
    load_window(t, w, row);
    return row;
  }

  void load_window(const vta_emit_term& t, const Window& w, int64_t sram) {
    const int64_t top = std::max<int64_t>(0, -w.row), left = std::max<int64_t>(0, -w.column);
    const int64_t bottom = std::max<int64_t>(0, w.row + w.height - t.source_height);
    const int64_t right = std::max<int64_t>(0, w.column + w.width - t.source_width);
    const int64_t height = w.height - top - bottom, width = w.width - left - right;
    const bool long_rows = t.source_height > 1 && t.source_width > kMaxSize;
    if (std::max({top, left, bottom, right}) > kMaxPad || (height > 1 && long_rows)) {
      failed_ = true;
      return;
    }
    const int64_t plane = t.source_height * t.source_width;
    const int64_t start = t.source_address + ((w.batch * t.source_blocks + w.block) * t.source_height + w.row + top) * t.source_width +
                          w.column + left;
    const bool unpadded = !(top || left || bottom || right);
    if (unpadded && (width == t.source_width || height == 1) && plane <= kMaxSize) {
      stream_.load({Memory::kInp, sram, Segment::kArena, start, height * width, w.blocks, plane});
      return;
    }
    for (int64_t block = 0; block < w.blocks; ++block) {
      stream_.load({Memory::kInp, sram + block * w.height * w.width, Segment::kArena, start + block * plane, width, height,
                    height > 1 ? t.source_width : width, top, left, bottom, right});
    }
  }

  int64_t weight_rows(int64_t index, const Tile& tile, const Step& step) {
    const vta_emit_term& t = op_.terms[index];
    const bool shared = t.weight_blocks == 1;
    if (fixed(t)) {
      const std::pair<int64_t, int64_t> wanted = {shared ? 0 : tile.block, shared ? 1 : tile.blocks};
      if (fixed_at_[index] != wanted) {
        fixed_at_[index] = wanted;
        load_weights({index, wanted.first, wanted.second}, fixed_base_[index], wanted.second);
      }
      return shared ? fixed_base_[index] : fixed_base_[index] + step.block;
    }
    const Key key = {index, shared ? 0 : tile.block, step.block, step.blocks, step.kh, step.kh_count, step.kw, step.kw_count};
    int64_t row = wgt_.find(key);
    if (row >= 0) return row;
    row = wgt_.take(key);
    const int64_t kernel = t.window ? 1 : step.kh_count * step.kw_count;
    const int64_t pairs = t.diagonal ? (shared ? 1 : step.blocks) : tile.blocks * step.blocks;
    load_weights(key, row, pairs * kernel);
    return row;
  }

  void load_weights(const Key& key, int64_t sram, int64_t count) {
    const auto [found, added] = weights_.try_emplace(key);
    if (added) found->second = stream_.add_constant(count * geometry_.elem_bytes(Memory::kWgt), Memory::kWgt);
    stream_.load({Memory::kWgt, sram, Segment::kConstants, found->second, count});
  }

  const vta_emit_operator& op_;
  const vta_emit_schedule& s_;
  Geometry geometry_;
  EmitStream stream_;
  FoldLimits limits_;
  Slots inp_, wgt_;
  bool failed_ = false;
  int64_t acc_slot_ = -1, vectors_at_ = -1;
  bool reaches_all_ = true;
  std::vector<int64_t> vectors_, fixed_base_, settled_;
  std::vector<std::pair<int64_t, int64_t>> fixed_at_;
  std::unordered_map<Key, std::vector<Emitted>, KeyHash> nests_;
  std::unordered_map<Key, int64_t, KeyHash> weights_;
};

}  // namespace

}  // namespace vta

struct vta_emitted {
  std::vector<vta::Packed> instructions;
};

struct vta_emitted_part {
  vta::EmitStream stream;
};

vta_emitted* vta_emit_tiles(const vta_emit_operator* op, const vta_emit_schedule* schedule, const vta_emit_target* target) {
  vta::Emitter emitter(*op, *schedule, *target);
  vta::EmitStream* stream = emitter.run();
  vta_emitted emitted{stream ? stream->finished() : std::vector<vta::Packed>{}};
  return emitted.instructions.empty() ? nullptr : new vta_emitted(std::move(emitted));
}

vta_emitted_part* vta_emit_part(const vta_emit_operator* op, const vta_emit_schedule* schedule, const vta_emit_target* target) {
  vta::Emitter emitter(*op, *schedule, *target);
  vta::EmitStream* stream = emitter.run();
  return stream && stream->fits() ? new vta_emitted_part{std::move(*stream)} : nullptr;
}

vta_part_sizes vta_emitted_part_sizes(vta_emitted_part* emitted) { return emitted->stream.part_sizes(); }

void vta_emitted_part_copy(const vta_emitted_part* emitted, const vta_part* part) { emitted->stream.copy_part(*part); }

void vta_emitted_part_free(vta_emitted_part* emitted) { delete emitted; }

int64_t vta_emitted_count(const vta_emitted* emitted) { return static_cast<int64_t>(emitted->instructions.size()); }

void vta_emitted_write(const vta_emitted* emitted, uint8_t* stream) {
  for (const vta::Packed& words : emitted->instructions) {
    for (int i = 0; i < 16; ++i) *stream++ = static_cast<uint8_t>(words[i / 8] >> i % 8 * 8);
  }
}

void vta_emitted_free(vta_emitted* emitted) { delete emitted; }
