#include "emit/gemm/gemm_template.h"

#include <algorithm>
#include <string>

#include "emit/emit_error.h"
#include "emit/gemm/output_padding.h"
#include "emit/gemm/term.h"

namespace vta {

namespace {

constexpr int64_t kByteBits = 8;

// Places of a tile from which on it takes fewer cycles to let products requantize: their parameters are read on their own.
constexpr int64_t kFinishedPlaces = 8;

int64_t mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

void require_positive(const char* name, int64_t value) {
  if (value < 1) throw EmitError(std::string(name) + " = " + std::to_string(value) + "; allowed: 1 and more");
}

void check(const vta_gemm_schedule& s) {
  const std::pair<const char*, int64_t> sizes[] = {
      {"tile_co", s.tile_co},     {"tile_h", s.tile_h},       {"tile_w", s.tile_w},
      {"tile_ci", s.tile_ci},     {"tile_kh", s.tile_kh},     {"tile_kw", s.tile_kw},
      {"inp_slots", s.inp_slots}, {"wgt_slots", s.wgt_slots}, {"acc_slots", s.acc_slots},
  };
  for (const auto& [name, value] : sizes) require_positive(name, value);
}

void check(const Term& term) {
  require_positive("taps", term.taps);
  for (int axis : {0, 1}) {
    require_positive("kernel", term.kernel[axis]);
    if (term.strides[axis] != 0 || term.kernel[axis] != 1) require_positive("strides", term.strides[axis]);
    require_positive("dilation", term.dilation[axis]);
    require_positive("source_dilation", term.source_dilation[axis]);
  }
}

// A step that adds products which GEMM can sum up right on top of the tile.
bool joins_products(const vta_epilogue_step& step, const vta_radix_digit* digits, int64_t first) {
  return static_cast<AluOp>(step.op) == AluOp::kAdd && step.step_end == 0 && step.end == first + 1 && digits[first].shift == 0;
}

// The only step is to requantize to 8 bits.
bool only_requantizes(const vta_gemm_operator& op) {
  return op.step_count == 1 && op.steps[0].kind == VTA_STEP_REQUANTIZE && (op.steps[0].imm & kRequantizeWide) == 0;
}

}  // namespace

GemmTemplate::GemmTemplate(Stream& stream, const vta_gemm_operator& op, const vta_gemm_schedule& schedule)
    : stream_(stream),
      op_(op),
      schedule_(schedule),
      vectors_(stream, op, schedule),
      reduction_(stream, op, schedule),
      reaches_all_(!schedule.skip_padding && std::none_of(op.terms, op.terms + op.term_count, dilated)) {
  check(schedule);
  std::for_each(op.terms, op.terms + op.term_count, [](const Term& term) { check(term); });
  initialized_.assign(static_cast<size_t>(schedule.acc_slots), 0);
  if (!only_requantizes(op)) return;
  const int64_t first = op.digit_end > 1 ? op.digits[op.digit_end - 2].term_end : 0;
  for (int64_t term = op.digits[op.digit_end - 1].term_end - 1; term >= first && finishing_term_ < 0; --term) {
    if (reduction_.can_finish(term)) finishing_term_ = term;
  }
}

void GemmTemplate::run() {
  if (op_.padded) store_output_padding(stream_, op_, schedule_.padding_base);
  if (op_.looks_up) load_table();
  const vta_gemm_schedule& s = schedule_;
  const vta_tensor& out = op_.output;
  const int64_t rows = ceil_div(out.height, s.tile_h), columns = ceil_div(out.width, s.tile_w);
  const int64_t channels = ceil_div(out.blocks, s.tile_co), places = out.batch * rows * columns;
  for (int64_t i = 0; i < channels * places; ++i) {
    const int64_t channel = s.weights_outer ? i / places : i % channels;
    const int64_t place = s.weights_outer ? i % places : i / channels;
    const int64_t block = channel * s.tile_co;
    const int64_t row = place / columns % rows * s.tile_h, column = place % columns * s.tile_w;
    stream_.set_tile(static_cast<int32_t>(i));
    emit_tile({place / (rows * columns), block, row, column, std::min(s.tile_co, out.blocks - block),
               std::min(s.tile_h, out.height - row), std::min(s.tile_w, out.width - column)});
  }
}

void GemmTemplate::emit_tile(const Box& tile) {
  acc_slot_ = (acc_slot_ + 1) % schedule_.acc_slots;
  const int64_t acc = schedule_.acc_base + schedule_.vectors + acc_slot_ * schedule_.acc_slot;
  if (schedule_.interleaved) kept_ = -1;
  vectors_.load(tile);
  start(tile, acc);
  Unwritten unwritten(tile.blocks);
  next_vector_ = op_.accumulator_init ? 1 : 0;
  if (finishing_term_ >= 0 && tile.positions() >= kFinishedPlaces) {
    finish(tile, acc, unwritten);
    store(tile, acc);
    return;
  }
  accumulate(0, op_.digit_end, tile, acc, unwritten);
  // A reset leaves the output rows undefined on some targets; a shift by 0 fills them.
  if (op_.step_count == 0 && (unwritten.any() || !reaches_all_)) immediate(AluOp::kShr, 0, tile, acc);
  next_digit_ = op_.digit_end;
  apply(0, op_.step_count, tile, acc);
  store(tile, acc);
}

// Gives the accumulator rows of a tile the values that they start from.
void GemmTemplate::start(const Box& tile, int64_t acc) {
  int64_t& initialized = initialized_[static_cast<size_t>(acc_slot_)];
  const bool left = op_.accumulator_init || op_.leaves_zeros;
  if (!left || initialized < tile.rows()) reset(tile, acc);
  if (!left) return;
  initialized = std::max(initialized, tile.rows());
  if (op_.accumulator_init) vector(AluOp::kMax, tile, acc, 0);
}

// Adds the products of a tile, the last of which requantize; what these do not reach is requantized after them.
void GemmTemplate::finish(const Box& tile, int64_t acc, Unwritten& unwritten) {
  accumulate(0, op_.digit_end - 1, tile, acc, unwritten);
  const vta_radix_digit& digit = op_.digits[op_.digit_end - 1];
  if (digit.shift) immediate(AluOp::kShr, -digit.shift, tile, acc);
  const int64_t first = op_.digit_end > 1 ? op_.digits[op_.digit_end - 2].term_end : 0;
  for (int64_t term = first; term < digit.term_end; ++term) {
    if (term != finishing_term_) reduction_.add(term, tile, acc, unwritten);
  }
  Finishing finishing(tile.blocks, [&](int64_t block) { keep_parameters(tile, acc, block); });
  reduction_.add(finishing_term_, tile, acc, unwritten, &finishing);
  for (int64_t block = 0; block < tile.blocks; ++block) {
    if (finishing.done(block)) continue;
    const Dim inner = {tile.positions(), {1, vectors_.apart(tile), 0}};
    const int64_t rows = acc + block * tile.positions();
    stream_.requantize({stream_.single(rows, vectors_.row(next_vector_, tile) + block), kNoLoop, inner}, op_.steps[0].imm);
    kept_ = -1;
  }
}

// The parameters of a channel block of a tile are read, unless they were read last.
void GemmTemplate::keep_parameters(const Box& tile, int64_t acc, int64_t block) {
  const int64_t row = vectors_.row(next_vector_, tile) + block, number = tile.block + block;
  if (kept_ == number) return;
  kept_ = number;
  const Dim inner = {1, {0, vectors_.apart(tile), 0}};
  stream_.requantize({stream_.single(acc + block * tile.positions(), row), kNoLoop, inner}, op_.steps[0].imm | kRequantizeKeep);
}

void GemmTemplate::accumulate(int64_t digit, int64_t digit_end, const Box& tile, int64_t acc, Unwritten& unwritten) {
  int64_t term = digit ? op_.digits[digit - 1].term_end : 0;
  for (; digit < digit_end; ++digit) {
    if (op_.digits[digit].shift) {
      immediate(AluOp::kShr, -op_.digits[digit].shift, tile, acc);
      unwritten.write_all();
    }
    for (; term < op_.digits[digit].term_end; ++term) reduction_.add(term, tile, acc, unwritten);
  }
}

// Applies steps to the rows of a tile from `acc` on.
void GemmTemplate::apply(int64_t step, int64_t step_end, const Box& tile, int64_t acc) {
  while (step < step_end) {
    const vta_epilogue_step& s = op_.steps[step++];
    const AluOp op = static_cast<AluOp>(s.op);
    const int64_t scratch = acc + schedule_.acc_tile * (1 + s.slot);
    switch (s.kind) {
      case VTA_STEP_IMMEDIATE:
        immediate(op, s.imm, tile, acc);
        break;
      case VTA_STEP_VECTOR:
        if (s.phases[0]) {
          apply_phases(s, tile, acc);
        } else {
          vector(op, tile, acc, next_vector_++);
        }
        break;
      case VTA_STEP_TENSOR:
        apply_tensor(s, step, tile, acc, scratch);
        step = std::max(step, s.step_end);
        break;
      case VTA_STEP_REQUANTIZE:
        requantize(s, tile, acc);
        break;
      case VTA_STEP_BRANCH:
        copy(s, tile, acc, scratch);
        apply(step, s.end, tile, scratch);
        step = s.end;
        break;
      case VTA_STEP_JOIN:
        rows(op, tile, acc, scratch);
        break;
      default:
        throw EmitError("a step of unknown kind " + std::to_string(s.kind));
    }
  }
}

// Steps of its own begin at `own`.
void GemmTemplate::apply_tensor(const vta_epilogue_step& step, int64_t own, const Box& tile, int64_t acc, int64_t scratch) {
  const int64_t first = next_digit_;
  next_digit_ = step.end;
  Unwritten unwritten(tile.blocks);
  if (joins_products(step, op_.digits, first)) {
    accumulate(first, step.end, tile, acc, unwritten);
    return;
  }
  reset(tile, scratch);
  accumulate(first, step.end, tile, scratch, unwritten);
  apply(own, step.step_end, tile, scratch);
  rows(static_cast<AluOp>(step.op), tile, acc, scratch);
}

// One step on the outputs of each phase, which lie that many rows and columns apart.
void GemmTemplate::apply_phases(const vta_epilogue_step& step, const Box& tile, int64_t acc) {
  const int64_t down = step.phases[0], across = step.phases[1];
  for (int64_t phase = 0; phase < down * across; ++phase) {
    const int64_t row = vectors_.row(next_vector_++, tile);
    const int64_t top = mod(phase / across - tile.row, down), left = mod(phase % across - tile.column, across);
    const int64_t rows = ceil_div(tile.height - top, down), columns = ceil_div(tile.width - left, across);
    if (rows < 1 || columns < 1) continue;
    const std::vector<Dim> nest = {
        {tile.blocks, {tile.positions(), 1, 0}}, {rows, {down * tile.width, 0, 0}}, {columns, {across, 0, 0}}};
    stream_.alu_nest(static_cast<AluOp>(step.op), nest, {acc + top * tile.width + left, row, 0});
  }
}

void GemmTemplate::requantize(const vta_epilogue_step& step, const Box& tile, int64_t acc) {
  const int64_t row = vectors_.row(next_vector_, tile);
  next_vector_ += kRequantizeParameters;
  kept_ = -1;
  const Rows to_next = tile.blocks > 1 ? Rows{tile.positions(), 1, 0} : Rows{0, 0, 0};
  const Dim inner = {tile.positions(), {1, vectors_.apart(tile), 0}};
  stream_.requantize({stream_.single(acc, row), {tile.blocks, to_next}, inner}, step.imm);
}

void GemmTemplate::load_table() {
  vta_constant constant{};
  constant.kind = VTA_CONSTANT_TABLE;
  constant.nbytes = kTableEntries;
  const int64_t first = stream_.add_constant(constant, Memory::kTable);
  stream_.load({Memory::kTable, 0, Segment::kConstants, first, stream_.geometry().depth(Memory::kTable)});
}

// Copies the rows of a tile for a branch.
void GemmTemplate::copy(const vta_epilogue_step& branch, const Box& tile, int64_t acc, int64_t scratch) {
  int64_t& copied = copied_[scratch];
  const bool settled = branch.copy_elided && copied >= tile.rows();
  if (!settled) reset(tile, scratch);
  copied = std::max(copied, tile.rows());
  rows(settled ? AluOp::kMax : AluOp::kAdd, tile, scratch, acc);
}

void GemmTemplate::store(const Box& tile, int64_t acc) {
  Box place = tile;
  if (op_.padded) {
    place.row += op_.pad_top;
    place.column += op_.pad_left;
  }
  for (int64_t plane = 0; plane < op_.stored.planes; ++plane) {
    if (plane) immediate(AluOp::kShr, kByteBits, tile, acc);
    store_tile(stream_, op_.stored, place, acc, plane);
  }
}

void GemmTemplate::reset(const Box& tile, int64_t acc) {
  stream_.gemm({stream_.single(acc, 0), kNoLoop, {tile.rows(), {1, 0, 0}}}, GemmKind::kReset);
}

void GemmTemplate::immediate(AluOp op, int64_t value, const Box& tile, int64_t acc) {
  stream_.alu(op, {stream_.single(acc, acc), kNoLoop, {tile.rows(), {1, 1, 0}}}, value);
}

void GemmTemplate::vector(AluOp op, const Box& tile, int64_t acc, int64_t number) {
  const Rows step = tile.blocks > 1 ? Rows{tile.positions(), 1, 0} : Rows{0, 0, 0};
  stream_.alu(op, {stream_.single(acc, vectors_.row(number, tile)), {tile.blocks, step}, {tile.positions(), {1, 0, 0}}});
}

void GemmTemplate::rows(AluOp op, const Box& tile, int64_t acc, int64_t operand) {
  stream_.alu(op, {stream_.single(acc, operand), kNoLoop, {tile.rows(), {1, 1, 0}}});
}

}  // namespace vta
