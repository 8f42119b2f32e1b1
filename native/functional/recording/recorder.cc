#include "functional/recording/recorder.h"

#include <algorithm>
#include <utility>

namespace vta {

namespace {

// Of a program that is worth it; a recording has some hundred bytes for each.
constexpr size_t kMostInstructions = 1 << 16;
constexpr size_t kMostKeptUops = 1 << 22;
// Micro-ops of a nest whose reduction is written out as these.
constexpr int64_t kMostUops = 128;
// Rows that the kernels add to side by side.
constexpr int64_t kRowsTogether = 8;

void swap_loops(NestPart& part) {
  std::swap(part.out_last, part.in_last);
  for (Factors* factors : {&part.dst, &part.src, &part.wgt}) std::swap(factors->outer, factors->inner);
}

// The same rows in the same order.
void drop_single_loop(NestPart& part) {
  if (part.in_last == 1) swap_loops(part);
}

// Lines that follow each other both in device memory and on chip are one.
Transfer joined(Transfer transfer) {
  const bool whole = transfer.x_stride == transfer.x_size && transfer.x_pad_0 == 0 && transfer.x_pad_1 == 0;
  if (whole && transfer.y_size > 1) {
    const int64_t line = transfer.x_size, pads[] = {transfer.y_pad_0 * line, transfer.y_pad_1 * line};
    transfer.x_size = transfer.x_stride = line * transfer.y_size;
    transfer.y_size = 1;
    transfer.x_pad_0 = pads[0];
    transfer.x_pad_1 = pads[1];
    transfer.y_pad_0 = transfer.y_pad_1 = 0;
  }
  return transfer;
}

DramRange range_of(const Transfer& transfer, int64_t bytes) {
  const int64_t first = transfer.dram_base * bytes;
  const int64_t last = transfer.y_size == 0 ? first : first + ((transfer.y_size - 1) * transfer.x_stride + transfer.x_size) * bytes;
  return {static_cast<uint64_t>(first), static_cast<uint64_t>(last)};
}

bool rows_differ(const NestPart& part) {
  const int64_t outer = part.dst.outer, inner = part.dst.inner;
  const bool within = part.in_last == 1 || inner > 0;
  const bool between = part.out_last == 1 || outer >= part.in_last * inner || (outer > 0 && inner >= part.out_last * outer);
  return within && between;
}

RowMask mask_of(const Uop* uops, int64_t count, uint16_t Uop::*field, const Factors& factors, int64_t iter_out, int64_t iter_in,
                int64_t depth) {
  RowMask rows(depth);
  for (int64_t u = 0; u < count; ++u) rows.set(uops[u].*field, uops[u].*field + 1);
  rows.repeat(iter_in, factors.inner);
  rows.repeat(iter_out, factors.outer);
  return rows;
}

}  // namespace

Recorder::Recorder(const Geometry& geometry, const vta_functional_job& job)
    : geometry_(geometry), job_(job), decode_uop_(geometry), sram_(static_cast<size_t>(geometry.depth(Memory::kUop))) {}

std::optional<Recording> Recorder::record(const std::vector<uint64_t>& order) {
  if (order.size() > kMostInstructions) return std::nullopt;
  made_ = Recording{};
  for (uint64_t index : order) {
    if (!add(index) || made_.uops.size() + loaded_uops_ > kMostKeptUops) return std::nullopt;
  }
  if (stores_uops()) return std::nullopt;
  drop_unread();
  made_.stream.assign(job_.stream + job_.first * kInstructionBytes, job_.stream + job_.last * kInstructionBytes);
  made_.dram_bytes = job_.dram_bytes;
  for (const DramRange& range : made_.uop_ranges) {
    made_.uop_bytes.insert(made_.uop_bytes.end(), job_.dram + range.first, job_.dram + range.last);
  }
  return std::move(made_);
}

bool Recorder::stores_uops() const {
  DramRange all = {UINT64_MAX, 0};
  for (const DramRange& range : made_.uop_ranges) all = {std::min(all.first, range.first), std::max(all.last, range.last)};
  return std::any_of(stored_.begin(), stored_.end(),
                     [&](const DramRange& range) { return range.meets(all) && made_.loads_uops_from(range); });
}

bool Recorder::add(uint64_t index) {
  const Words words = read_words(job_.stream, index);
  switch (static_cast<Opcode>(decode_header(words).opcode)) {
    case Opcode::kLoad:
      return add_load(decode_transfer(words));
    case Opcode::kStore:
      add_store(decode_transfer(words));
      return true;
    case Opcode::kGemm: {
      const Nest nest = decode_gemm(words, geometry_);
      if (nest.total() == 0) return true;
      if (!nest.reset) return add_products(nest);
      add_zeros(nest);
      return true;
    }
    case Opcode::kAlu: {
      const Nest nest = decode_alu(words, geometry_);
      return nest.total() == 0 || add_alu(nest);
    }
    case Opcode::kFinish:
      return true;
    case Opcode::kDepthwise:
      return false;
  }
  return false;
}

void Recorder::add_step(RecordedKind kind, size_t at) { made_.steps.push_back({kind, static_cast<uint32_t>(at)}); }

// A chain stays open while nothing touches accumulators or results.
bool Recorder::add_load(const Transfer& transfer) {
  if (transfer.x_size == 0) return true;
  const auto memory = static_cast<Memory>(transfer.memory_type);
  if (memory == Memory::kUop && !load_uops(transfer)) return false;
  if (memory == Memory::kAcc || memory == Memory::kAcc8) chain_is_open_ = false;
  add_step(RecordedKind::kLoad, made_.loads.size());
  made_.loads.push_back(joined(transfer));
  return true;
}

bool Recorder::load_uops(const Transfer& transfer) {
  const int64_t bytes = geometry_.elem_bytes(Memory::kUop);
  const bool plain = transfer.y_size == 1 && transfer.y_pad_0 + transfer.y_pad_1 + transfer.x_pad_0 + transfer.x_pad_1 == 0;
  if (!plain) return false;
  const uint8_t* from = job_.dram + transfer.dram_base * bytes;
  for (int64_t row = 0; row < transfer.x_size; ++row, from += bytes) {
    const uint32_t word = from[0] | uint32_t{from[1]} << 8 | uint32_t{from[2]} << 16 | uint32_t{from[3]} << 24;
    sram_[static_cast<size_t>(transfer.sram_base + row)] = decode_uop_(word);
  }
  made_.uop_ranges.push_back(range_of(transfer, bytes));
  loaded_uops_ += static_cast<size_t>(transfer.x_size);
  return true;
}

void Recorder::add_store(const Transfer& transfer) {
  if (transfer.x_size == 0) return;
  chain_is_open_ = false;
  add_step(RecordedKind::kStore, made_.stores.size());
  stored_.push_back(range_of(transfer, geometry_.elem_bytes(Memory::kOut)));
  made_.stores.push_back(joined(transfer));
}

RecordedNest Recorder::nest_of(const Nest& nest) {
  const size_t first = made_.uops.size();
  made_.uops.insert(made_.uops.end(), sram_.begin() + nest.uop_bgn, sram_.begin() + nest.uop_end);
  return {{nullptr, nest.uops(), 0, nest.iter_out, 0, nest.iter_in, nest.dst, nest.src, nest.wgt}, first};
}

// Sums wrap, so their order does not matter: a loop that adds to the same rows again becomes micro-ops, whose sums stay in registers,
// and the loop inside is the one that shares weights.
bool Recorder::add_products(const Nest& nest) {
  if (nest.finishes) return false;
  chain_is_open_ = false;
  RecordedNest products = nest_of(nest);
  NestPart& part = products.part;
  for (int loop = 0; loop < 2; ++loop) {
    swap_loops(part);
    if (part.dst.outer != 0 || part.out_last == 1 || part.out_last * part.uop_count > kMostUops) continue;
    for (int64_t o = 1; o < part.out_last; ++o) {
      for (int64_t u = 0; u < part.uop_count; ++u) {
        const Uop uop = made_.uops[products.first_uop + static_cast<size_t>(u)];
        made_.uops.push_back({uop.dst, static_cast<uint16_t>(uop.src + o * part.src.outer),
                              static_cast<uint16_t>(uop.wgt + o * part.wgt.outer)});
      }
    }
    part.uop_count *= part.out_last;
    part.out_last = 1;
    std::stable_sort(made_.uops.begin() + static_cast<int64_t>(products.first_uop), made_.uops.end(),
                     [](const Uop& one, const Uop& other) { return one.dst < other.dst; });
  }
  const bool inner = part.wgt.inner == 0 && part.dst.inner != 0, outer = part.wgt.outer == 0 && part.dst.outer != 0;
  if (outer && (!inner || (part.in_last < kRowsTogether && part.out_last > part.in_last))) swap_loops(part);
  add_step(RecordedKind::kProducts, made_.products.size());
  made_.products.push_back({products, true});
  return true;
}

void Recorder::add_zeros(const Nest& nest) {
  if (open_chain(nest, {ChainOp::kFill, false, 0, 0, {}})) return;
  chain_is_open_ = false;
  add_step(RecordedKind::kZeros, made_.zeros.size());
  made_.zeros.push_back(nest_of(nest));
}

bool Recorder::add_alu(const Nest& nest) {
  if (nest.requantizes()) return false;
  const ChainLink link = link_of(nest);
  if (!reads_own_rows(nest) && (join_chain(nest, link) || open_chain(nest, link))) {
    made_.chains.back().to_out = true;
    return true;
  }
  chain_is_open_ = false;
  RecordedNest rows = nest_of(nest);
  drop_single_loop(rows.part);
  add_step(RecordedKind::kAlu, made_.alus.size());
  made_.alus.push_back({rows, static_cast<AluOp>(nest.alu_op), nest.use_imm, nest.imm});
  return true;
}

ChainLink Recorder::link_of(const Nest& nest) const {
  static constexpr ChainOp kOps[] = {ChainOp::kMin, ChainOp::kMax, ChainOp::kAdd, ChainOp::kShr, ChainOp::kMul};
  const ChainOp op = kOps[nest.alu_op];
  if (!nest.use_imm) return {op, true, 0, sram_[static_cast<size_t>(nest.uop_bgn)].src, nest.src};
  if (op != ChainOp::kShr) return {op, false, nest.imm, 0, {}};
  if (nest.imm >= 0) return {ChainOp::kRight, false, std::min(nest.imm, 31), 0, {}};
  if (nest.imm > -32) return {ChainOp::kLeft, false, -nest.imm, 0, {}};
  return {ChainOp::kFill, false, 0, 0, {}};
}

bool Recorder::reads_own_rows(const Nest& nest) const {
  if (nest.use_imm) return false;
  const Uop* uops = sram_.data() + nest.uop_bgn;
  const int64_t depth = geometry_.depth(Memory::kAcc), count = nest.uops();
  return mask_of(uops, count, &Uop::dst, nest.dst, nest.iter_out, nest.iter_in, depth)
      .meets(mask_of(uops, count, &Uop::src, nest.src, nest.iter_out, nest.iter_in, depth));
}

bool Recorder::open_chain(const Nest& nest, const ChainLink& link) {
  NestPart part = {nullptr, 1, 0, nest.iter_out, 0, nest.iter_in, nest.dst, link.factors, {}};
  drop_single_loop(part);
  if (nest.uops() != 1 || geometry_.lanes() % kChainLanes != 0 || !rows_differ(part)) return false;
  add_step(RecordedKind::kChain, made_.chains.size());
  made_.chains.push_back({sram_[static_cast<size_t>(nest.uop_bgn)].dst, part.dst, part.out_last, part.in_last, made_.links.size(), 1,
                          false});
  made_.links.push_back(link);
  made_.links.back().factors = part.src;
  chain_is_open_ = true;
  return true;
}

bool Recorder::join_chain(const Nest& nest, const ChainLink& link) {
  if (!chain_is_open_ || nest.uops() != 1) return false;
  RecordedChain& chain = made_.chains.back();
  NestPart part = {nullptr, 1, 0, nest.iter_out, 0, nest.iter_in, nest.dst, link.factors, {}};
  drop_single_loop(part);
  const bool same = part.out_last == chain.iter_out && part.in_last == chain.iter_in &&
                    part.dst.outer == chain.factors.outer && part.dst.inner == chain.factors.inner &&
                    sram_[static_cast<size_t>(nest.uop_bgn)].dst == chain.dst;
  if (!same) return false;
  made_.links.push_back(link);
  made_.links.back().factors = part.src;
  ++chain.count;
  return true;
}

RowMask Recorder::rows_of(const RecordedNest& nest) const {
  const NestPart& part = nest.part;
  return mask_of(made_.uops.data() + nest.first_uop, part.uop_count, &Uop::dst, part.dst, part.out_last, part.in_last,
                 geometry_.depth(Memory::kAcc));
}

RowMask Recorder::rows_of(const RecordedChain& chain) const {
  const Uop uop = {static_cast<uint16_t>(chain.dst), 0, 0};
  return mask_of(&uop, 1, &Uop::dst, chain.factors, chain.iter_out, chain.iter_in, geometry_.depth(Memory::kAcc));
}

void Recorder::drop_unread() {
  RowMask read(geometry_.depth(Memory::kOut));  // later; at the end, all of it may be
  read.set(0, geometry_.depth(Memory::kOut));
  const auto overwrite = [&](const RowMask& rows) {
    const bool wanted = rows.meets(read);
    read.remove(rows);
    return wanted;
  };
  for (auto step = made_.steps.rbegin(); step != made_.steps.rend(); ++step) {
    if (step->kind == RecordedKind::kStore) {
      const Transfer& store = made_.stores[step->at];
      read.set(store.sram_base, store.sram_base + store.x_size * store.y_size);
    } else if (step->kind == RecordedKind::kProducts) {
      RecordedProducts& products = made_.products[step->at];
      products.to_out = overwrite(rows_of(products.nest));
    } else if (step->kind == RecordedKind::kChain) {
      RecordedChain& chain = made_.chains[step->at];
      if (chain.to_out) chain.to_out = overwrite(rows_of(chain));
    } else if (step->kind == RecordedKind::kAlu) {
      overwrite(rows_of(made_.alus[step->at].nest));
    }
  }
}

}  // namespace vta
