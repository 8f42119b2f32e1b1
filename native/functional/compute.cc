// GEMM and ALU. Everything that can be wrong with an instruction is found before its first effect.
#include <algorithm>
#include <cstring>

#include "functional/depthwise.h"
#include "functional/engine.h"
#include "functional/requantize.h"

namespace vta {

namespace {

// Cost of one ALU lane in multiply-accumulates.
constexpr int64_t kAluLaneCost = 4;

std::string text(int64_t value) { return std::to_string(value); }

NestPart part_of(const Nest& nest, const Uop* uops) {
  return {uops + nest.uop_bgn, nest.uops(), 0, nest.iter_out, 0, nest.iter_in, nest.dst, nest.src, nest.wgt};
}

}  // namespace

bool FunctionalEngine::gemm(const Nest& nest, int64_t& budget) {
  if (nest.total() == 0) return true;
  if (current_->next == 0) prepare_gemm(nest);
  const int64_t cost = nest.reset ? geometry_.lanes() : geometry_.lanes() * geometry_.block;
  const bool done = run_parts(nest, cost, budget, [&](const NestPart& part) {
    if (nest.reset) {
      zero_rows(part);
      return;
    }
    run_and_finish(nest, part, [&](const NestPart& rows) {
      kernels_.gemm({rows, scratchpad_.inp(), scratchpad_.wgt(), scratchpad_.acc(), scratchpad_.out(), geometry_.batch});
    });
  });
  if (!done) return false;
  if (nest.reset) {
    count(&vta_functional_counters::reset_uops, nest.total());
  } else {
    count(&vta_functional_counters::gemm_uops, nest.total());
    count(&vta_functional_counters::macs, nest.total() * geometry_.lanes() * geometry_.block);
  }
  return true;
}

bool FunctionalEngine::depthwise(const Nest& nest, int64_t& budget) {
  if (nest.total() == 0) return true;
  if (current_->next == 0) prepare_depthwise(nest);
  const int64_t lanes = geometry_.lanes();
  const bool done = run_parts(nest, lanes * kDepthwiseTaps, budget, [&](const NestPart& part) {
    run_and_finish(nest, part, [&](const NestPart& rows) {
      depthwise_rows({rows, scratchpad_.plain_inp(), scratchpad_.plain_wgt(), scratchpad_.acc(), scratchpad_.out(),
                      geometry_.batch, geometry_.block, geometry_.narrow_acc()});
    });
  });
  if (!done) return false;
  count(&vta_functional_counters::gemm_uops, nest.total());
  count(&vta_functional_counters::macs, nest.total() * lanes * kDepthwiseTaps);
  return true;
}

bool FunctionalEngine::alu(const Nest& nest, int64_t& budget) {
  if (nest.total() == 0) return true;
  if (nest.requantizes() && geometry_.requantizes) return requantize(nest, budget);
  if (current_->next == 0) prepare_alu(nest);
  const bool done = run_parts(nest, kAluLaneCost * geometry_.lanes(), budget, [&](const NestPart& part) {
    kernels_.alu({part, scratchpad_.acc(), scratchpad_.out(), geometry_.lanes(), static_cast<AluOp>(nest.alu_op), nest.use_imm,
                  nest.imm});
  });
  if (done) count(&vta_functional_counters::alu_uops, nest.total());
  return done;
}

bool FunctionalEngine::requantize(const Nest& nest, int64_t& budget) {
  if (current_->next == 0) prepare_requantize(nest);
  if (nest.keeps()) {
    keep_parameters(nest);
    return true;
  }
  const bool wide = (nest.imm & kRequantizeWide) != 0;
  const uint8_t* table = looks_up(nest) ? scratchpad_.table() : nullptr;
  const bool done = run_parts(nest, kAluLaneCost * geometry_.lanes(), budget, [&](const NestPart& part) {
    requantize_rows({part, scratchpad_.acc(), scratchpad_.out(), geometry_.lanes(), wide, table});
  });
  if (!done) return false;
  keep_parameters(nest);
  count(&vta_functional_counters::alu_uops, nest.total());
  return true;
}

// The parameters that a REQUANTIZE reads last, which products may be requantized with after it.
void FunctionalEngine::keep_parameters(const Nest& nest) {
  const int64_t lanes = geometry_.lanes(), last = nest.keeps() ? 0 : nest.iter_out - 1;
  const int32_t* first = scratchpad_.acc() + (scratchpad_.uops()[nest.uop_bgn].src + last * nest.src.outer) * lanes;
  kept_.clear();
  for (int64_t row = 0; row < kRequantizeParameters; ++row) {
    const int32_t* values = first + row * nest.src.inner * lanes;
    kept_.insert(kept_.end(), values, values + lanes);
  }
  kept_looks_up_ = looks_up(nest);
}

// Adds products by `run`; of a nest that finishes, requantizes the row of the last micro-op in each iteration.
template <typename Run>
void FunctionalEngine::run_and_finish(const Nest& nest, const NestPart& part, const Run& run) {
  if (!nest.finishes) return run(part);
  kept_.resize(static_cast<size_t>(kRequantizeParameters * geometry_.lanes()));
  const auto finish = [&](const NestPart& done) {
    NestPart last = done;
    last.uops += done.uop_count - 1;
    last.uop_count = 1;
    const uint8_t* table = kept_looks_up_ ? scratchpad_.table() : nullptr;
    requantize_rows({last, scratchpad_.acc(), scratchpad_.out(), geometry_.lanes(), false, table}, kept_.data());
  };
  const auto elsewhere = [&](const Uop& uop) { return uop.dst != part.uops->dst; };
  const bool one_row = std::none_of(part.uops, part.uops + part.uop_count, elsewhere);
  const bool apart = (nest.iter_in == 1 || nest.dst.inner > 0) &&
                     (nest.iter_out == 1 || nest.dst.outer > (nest.iter_in - 1) * nest.dst.inner);
  if (one_row && apart) {
    run(part);
    return finish(part);
  }
  NestPart single = part;
  for (single.out_first = part.out_first; single.out_first < part.out_last; ++single.out_first) {
    single.out_last = single.out_first + 1;
    for (single.in_first = part.in_first; single.in_first < part.in_last; ++single.in_first) {
      single.in_last = single.in_first + 1;
      run(single);
      finish(single);
    }
  }
}

bool FunctionalEngine::looks_up(const Nest& nest) const {
  return geometry_.has_table && (nest.imm & (kRequantizeWide | kRequantizeTable)) == kRequantizeTable;
}

void FunctionalEngine::prepare_gemm(const Nest& nest) {
  check_uops(nest);
  const Extent dst = check_index(nest, Memory::kAcc, "dst", &Uop::dst, nest.dst);
  if (nest.reset) {
    mark_written(nest, dst, Memory::kAcc);
    return;
  }
  const Extent src = check_index(nest, Memory::kInp, "src", &Uop::src, nest.src);
  const Extent wgt = check_index(nest, Memory::kWgt, "wgt", &Uop::wgt, nest.wgt);
  if (job_.checks != 0) {
    require_written(nest, dst, Memory::kAcc, &Uop::dst, nest.dst);
    require_written(nest, src, Memory::kInp, &Uop::src, nest.src);
    require_written(nest, wgt, Memory::kWgt, &Uop::wgt, nest.wgt);
  }
  mark_written(nest, dst, Memory::kOut);
}

void FunctionalEngine::prepare_depthwise(const Nest& nest) {
  check_uops(nest);
  const Extent dst = check_index(nest, Memory::kAcc, "dst", &Uop::dst, nest.dst);
  // The last of the rows that are read is one of the same loops whose micro-ops lie as much further.
  const Extent src = extent_of(nest, &Uop::src, nest.src);
  const int64_t depth = geometry_.depth(Memory::kInp);
  if (src.high + kDepthwiseTaps > depth) {
    fail_here("src reaches INP row " + text(src.high + kDepthwiseTaps - 1) + "; the last row is " + text(depth - 1));
  }
  const Extent wgt = check_index(nest, Memory::kWgt, "wgt", &Uop::wgt, nest.wgt);
  if (job_.checks != 0) {
    require_written(nest, dst, Memory::kAcc, &Uop::dst, nest.dst);
    require_written(nest, wgt, Memory::kWgt, &Uop::wgt, nest.wgt);
    const RowMask rows = touched(nest, Memory::kInp, &Uop::src, nest.src);
    const RowMask& written = scratchpad_.written(Memory::kInp);
    for (int64_t row = src.low; row <= src.high; ++row) {
      const int64_t end = row + kDepthwiseTaps, missing = rows.test(row) ? written.first_missing(row, end) : end;
      if (missing < end) fail_here("reads INP row " + text(missing) + ", which nothing has written");
    }
  }
  mark_written(nest, dst, Memory::kOut);
}

void FunctionalEngine::prepare_alu(const Nest& nest) {
  if (nest.alu_op > geometry_.last_alu_op()) {
    fail_here("ALU has alu_opcode " + text(nest.alu_op) + "; allowed: 0 to " + text(geometry_.last_alu_op()));
  }
  check_uops(nest);
  const Extent dst = check_index(nest, Memory::kAcc, "dst", &Uop::dst, nest.dst);
  const Extent src = nest.use_imm ? dst : check_index(nest, Memory::kAcc, "src", &Uop::src, nest.src);
  if (job_.checks != 0) {
    require_written(nest, dst, Memory::kAcc, &Uop::dst, nest.dst);
    if (!nest.use_imm) require_written(nest, src, Memory::kAcc, &Uop::src, nest.src);
  }
  mark_written(nest, dst, Memory::kOut);
}

// The parameters of each outer iteration are three rows from the first micro-op's src on.
void FunctionalEngine::prepare_requantize(const Nest& nest) {
  check_uops(nest);
  const Extent dst = nest.keeps() ? Extent{} : check_index(nest, Memory::kAcc, "dst", &Uop::dst, nest.dst);
  Nest parameters = nest;
  if (nest.keeps()) parameters.iter_out = 1;
  parameters.uop_end = nest.uop_bgn + 1;
  parameters.iter_in = kRequantizeParameters;
  const Extent src = check_index(parameters, Memory::kAcc, "src", &Uop::src, nest.src);
  if (job_.checks != 0) {
    if (!nest.keeps()) require_written(nest, dst, Memory::kAcc, &Uop::dst, nest.dst);
    require_written(parameters, src, Memory::kAcc, &Uop::src, nest.src);
    const int64_t rows = geometry_.depth(Memory::kTable);
    const int64_t missing = looks_up(nest) ? scratchpad_.written(Memory::kTable).first_missing(0, rows) : rows;
    if (missing < rows) fail_here("reads TABLE row " + text(missing) + ", which nothing has written");
  }
  if (!nest.keeps()) mark_written(nest, dst, Memory::kOut);
}

void FunctionalEngine::check_uops(const Nest& nest) {
  const int64_t depth = geometry_.depth(Memory::kUop);
  if (nest.uop_end > depth) fail_here("uop_end is " + text(nest.uop_end) + "; UOP has " + text(depth) + " rows");
  if (job_.checks == 0) return;
  const int64_t missing = scratchpad_.written(Memory::kUop).first_missing(nest.uop_bgn, nest.uop_end);
  if (missing < nest.uop_end) fail_here("reads UOP row " + text(missing) + ", which nothing has written");
}

FunctionalEngine::Extent FunctionalEngine::extent_of(const Nest& nest, uint16_t Uop::*field, const Factors& factors) const {
  int64_t low = INT64_MAX, high = 0;
  for (const Uop *uop = scratchpad_.uops() + nest.uop_bgn, *end = scratchpad_.uops() + nest.uop_end; uop != end; ++uop) {
    low = std::min<int64_t>(low, uop->*field);
    high = std::max<int64_t>(high, uop->*field);
  }
  return {low, high + (nest.iter_out - 1) * factors.outer + (nest.iter_in - 1) * factors.inner};
}

// Returns what it has looked at.
FunctionalEngine::Extent FunctionalEngine::check_index(const Nest& nest, Memory memory, const char* name, uint16_t Uop::*field,
                                                       const Factors& factors) const {
  const Extent extent = extent_of(nest, field, factors);
  const int64_t depth = geometry_.depth(memory);
  if (extent.high >= depth) {
    fail_here(std::string(name) + " reaches " + memory_name(memory) + " row " + text(extent.high) + " (iter_out " +
              text(nest.iter_out) + ", iter_in " + text(nest.iter_in) + ", factors " + text(factors.outer) + " and " +
              text(factors.inner) + "); the last row is " + text(depth - 1));
  }
  return extent;
}

// Most instructions touch a range without holes, or find the holes written too: then the range alone answers.
void FunctionalEngine::require_written(const Nest& nest, const Extent& extent, Memory memory, uint16_t Uop::*field,
                                       const Factors& factors) {
  const RowMask& written = scratchpad_.written(memory);
  if (written.first_missing(extent.low, extent.high + 1) > extent.high) return;
  const RowMask rows = touched(nest, memory, field, factors);
  for (int64_t row = extent.low; row <= extent.high; ++row) {
    if (rows.test(row) && !written.test(row)) {
      fail_here(std::string("reads ") + memory_name(memory) + " row " + text(row) + ", which nothing has written");
    }
  }
}

void FunctionalEngine::mark_written(const Nest& nest, const Extent& dst, Memory memory) {
  RowMask& written = scratchpad_.written(memory);
  if (written.first_missing(dst.low, dst.high + 1) > dst.high) return;
  written.merge(touched(nest, memory, &Uop::dst, nest.dst));
}

RowMask FunctionalEngine::touched(const Nest& nest, Memory memory, uint16_t Uop::*field, const Factors& factors) const {
  RowMask rows(geometry_.depth(memory));
  for (int64_t u = nest.uop_bgn; u < nest.uop_end; ++u) {
    const int64_t row = scratchpad_.uops()[u].*field;
    rows.set(row, row + 1);
  }
  rows.repeat(nest.iter_in, factors.inner);
  rows.repeat(nest.iter_out, factors.outer);
  return rows;
}

// Runs whole outer iterations while the budget lasts, or single inner ones where an outer one is too long.
template <typename Run>
bool FunctionalEngine::run_parts(const Nest& nest, int64_t cost, int64_t& budget, const Run& run) {
  NestPart part = part_of(nest, scratchpad_.uops());
  const int64_t inner_cost = cost * nest.uops();
  const int64_t end = nest.iter_out * nest.iter_in;
  int64_t& next = current_->next;
  while (next < end && budget > 0) {
    const int64_t affordable = std::max<int64_t>(1, budget / inner_cost);
    part.out_first = next / nest.iter_in;
    part.in_first = next % nest.iter_in;
    if (part.in_first == 0 && affordable >= nest.iter_in) {
      part.out_last = std::min(nest.iter_out, part.out_first + affordable / nest.iter_in);
      part.in_last = nest.iter_in;
    } else {
      part.out_last = part.out_first + 1;
      part.in_last = std::min(nest.iter_in, part.in_first + affordable);
    }
    run(part);
    const int64_t done = (part.out_last - part.out_first) * (part.in_last - part.in_first);
    next += done;
    budget -= done * inner_cost;
  }
  return next == end;
}

void FunctionalEngine::zero_rows(const NestPart& part) {
  const auto lanes = static_cast<size_t>(geometry_.lanes());
  for (int64_t o = part.out_first; o < part.out_last; ++o) {
    for (int64_t i = part.in_first; i < part.in_last; ++i) {
      const int64_t base = o * part.dst.outer + i * part.dst.inner;
      for (int64_t u = 0; u < part.uop_count; ++u) {
        std::memset(scratchpad_.acc() + static_cast<size_t>(base + part.uops[u].dst) * lanes, 0, lanes * sizeof(int32_t));
      }
    }
  }
}

}  // namespace vta
