// Walks a program in one order that its tokens allow and compares every access with the clocks of all orders.
#include <algorithm>
#include <memory>
#include <vector>

#include "verify/dram.h"
#include "verify/hazards.h"
#include "verify/rows.h"
#include "verify/sram.h"

namespace vta::verify {
namespace {

struct Geometry {
  explicit Geometry(const vta_geometry& hw) {
    const int vector = hw.log_batch + hw.log_block;
    log_bytes[kUop] = 2;
    log_bytes[kWgt] = 2 * hw.log_block + hw.log_wgt_width - 3;
    log_bytes[kInp] = log_bytes[kOut] = vector + hw.log_inp_width - 3;
    log_bytes[kAcc] = vector + hw.log_acc_width - 3;
    log_bytes[kAcc8] = vector;
    log_bytes[kTable] = 2;
    log_depth[kTable] = 6;
    log_depth[kUop] = hw.log_uop_buff_size - log_bytes[kUop];
    log_depth[kWgt] = hw.log_wgt_buff_size - log_bytes[kWgt];
    log_depth[kInp] = hw.log_inp_buff_size - log_bytes[kInp];
    log_depth[kAcc] = log_depth[kOut] = log_depth[kAcc8] = hw.log_acc_buff_size - log_bytes[kAcc];
    acc_bytes = 1 << (hw.log_acc_width - 3);
  }
  int log_cell() const { return std::min({log_bytes[kWgt], log_bytes[kInp], log_bytes[kAcc8]}); }
  int64_t depth(int memory) const { return int64_t{1} << log_depth[memory]; }

  int log_bytes[7];
  int log_depth[7];
  int acc_bytes;
};

class Verifier {
 public:
  Verifier(const Geometry& geometry, const Rules& rules, const vta_verify_program& program, Report& report)
      : geometry_(geometry),
        rules_(rules),
        program_(program),
        report_(report),
        schedule_(program, rules, report),
        dram_(program, geometry.log_cell(), schedule_, report),
        inp_(kInp, geometry.depth(kInp), schedule_, report),
        wgt_(kWgt, geometry.depth(kWgt), schedule_, report),
        out_(kOut, geometry.depth(kOut), schedule_, report),
        acc_(geometry.depth(kAcc)),
        table_(geometry.depth(kTable)),
        uops_(rules.uop_depth),
        dst_set_(geometry.depth(kAcc)),
        acc_src_set_(geometry.depth(kAcc)),
        inp_set_(geometry.depth(kInp)),
        wgt_set_(geometry.depth(kWgt)) {}

  void run() {
    for (int64_t index = 0; index < program_.instruction_count; ++index) {
      const Instruction& insn = program_.instructions[index];
      if (insn.opcode == kStore && moves(insn) && store_fits(insn)) dram_.plan_store(transfer(insn));
    }
    for (const int32_t index : schedule_.order()) visit(index);
    if (schedule_.complete()) dram_.check_outputs();
  }

 private:
  static bool moves(const Instruction& insn) { return insn.x_size != 0; }
  static bool runs(const Instruction& insn) {
    return insn.iter_out > 0 && insn.iter_in > 0 && insn.uop_bgn < insn.uop_end;
  }
  bool store_fits(const Instruction& insn) const {
    return insn.sram_base + insn.y_size * insn.x_size <= geometry_.depth(kOut);
  }

  Transfer transfer(const Instruction& insn) const {
    const int shift = geometry_.log_bytes[insn.memory_type];
    return {static_cast<uint64_t>(insn.dram_base) << shift, insn.y_size, static_cast<uint64_t>(insn.x_size) << shift,
            static_cast<uint64_t>(insn.x_stride) << shift};
  }

  void visit(int32_t index) {
    const Instruction& insn = program_.instructions[index];
    if (insn.opcode == kLoad && moves(insn)) load(insn, index);
    if (insn.opcode == kStore && moves(insn)) store(insn, index);
    if ((insn.opcode == kGemm || insn.opcode == kAlu || insn.opcode == kDepthwise) && runs(insn)) compute(insn, index);
  }

  void out_of_sram(int32_t index, int memory, int64_t first, int64_t count, int64_t uop = -1) {
    Finding& finding = report_.add(kSramBounds, schedule_.unit(index), index);
    finding.memory = memory;
    finding.first = first;
    finding.count = count;
    finding.detail = uop;
  }

  void load(const Instruction& insn, int32_t index) {
    const int memory = static_cast<int>(insn.memory_type);
    const int64_t width = insn.x_pad_0 + insn.x_size + insn.x_pad_1;
    const int64_t count = width * (insn.y_pad_0 + insn.y_size + insn.y_pad_1);
    const int64_t depth = memory == kUop ? rules_.uop_depth : geometry_.depth(memory);
    if (insn.sram_base + count > depth) return out_of_sram(index, memory, insn.sram_base, count);
    const Source source = dram_.read(index, memory, transfer(insn));
    if (memory == kInp) fill(inp_, insn.sram_base, count, index);
    if (memory == kWgt) fill(wgt_, insn.sram_base, count, index);
    if (memory == kAcc || memory == kAcc8) load_acc(insn, count, index);
    if (memory == kUop) load_uops(insn, source, index);
    if (memory == kTable) std::fill_n(table_.begin() + insn.sram_base, count, true);
  }

  void fill(SharedRows& rows, int64_t first, int64_t count, int32_t index) {
    rows.begin(index);
    for (int64_t row = first; row < first + count; ++row) rows.write(row);
    rows.end();
  }

  void load_acc(const Instruction& insn, int64_t count, int32_t index) {
    const Transfer source = transfer(insn);
    std::fill_n(acc_.begin() + insn.sram_base, count, AccRow{true, false, 0, 0});
    if (dram_.constant(source)) load_bounds(insn, source);
    if (rules_.store_reads_acc) fill(out_, insn.sram_base, count, index);
  }

  // The bounds of each row that a load of constants fills. Padding is zeros.
  void load_bounds(const Instruction& insn, const Transfer& source) {
    const int64_t width = insn.x_pad_0 + insn.x_size + insn.x_pad_1, rows = insn.y_pad_0 + insn.y_size + insn.y_pad_1;
    const uint64_t element = insn.x_size ? source.run / insn.x_size : 0;
    for (int64_t y = 0; y < rows; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const int64_t row = y - insn.y_pad_0, column = x - insn.x_pad_0;
        AccRow& loaded = acc_[insn.sram_base + y * width + x];
        if (row < 0 || row >= insn.y_size || column < 0 || column >= insn.x_size) {
          loaded = {true, true, 0, 0};
        } else {
          const uint64_t start = source.start + row * source.pitch + column * element;
          loaded.known = value_bounds(insn, start, element, loaded.low, loaded.high);
        }
      }
    }
  }

  // Bounds of all scalars of an element.
  bool value_bounds(const Instruction& insn, uint64_t start, uint64_t element, int32_t& low, int32_t& high) {
    const int bytes = insn.memory_type == kAcc8 ? 1 : geometry_.acc_bytes;
    const int unused = 32 - 8 * bytes;
    low = INT32_MAX;
    high = INT32_MIN;
    for (uint64_t offset = 0; offset < element; offset += bytes) {
      uint32_t raw = 0;
      if (!dram_.initial(start + offset, &raw, bytes)) return false;
      const int32_t value = static_cast<int32_t>(raw << unused) >> unused;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    return low <= high;
  }

  void load_uops(const Instruction& insn, Source source, int32_t index) {
    const Transfer bytes = transfer(insn);
    const int64_t width = insn.x_pad_0 + insn.x_size + insn.x_pad_1;
    const int64_t total = width * (insn.y_pad_0 + insn.y_size + insn.y_pad_1);
    std::fill_n(uops_.begin() + insn.sram_base, total, UopRow{0, UopRow::kKnown});
    bool unknown = source == Source::kStored;
    for (int64_t row = 0; row < insn.y_size; ++row) {
      const int64_t first = insn.sram_base + width * (insn.y_pad_0 + row) + insn.x_pad_0;
      for (int64_t column = 0; column < insn.x_size; ++column) {
        UopRow& uop = uops_[first + column];
        const bool found = dram_.initial(bytes.start + row * bytes.pitch + column * 4, &uop.word, 4);
        if (!found || source != Source::kInitial) uop.state = UopRow::kUnknown;
        unknown |= !found;
      }
    }
    if (!unknown || source == Source::kOutside) return;
    Finding& finding = report_.add(kUnknownUops, kComputeUnit, index);
    finding.memory = kUop;
    finding.first = static_cast<int64_t>(bytes.start);
    finding.count = insn.y_size * insn.x_size;
  }

  void store(const Instruction& insn, int32_t index) {
    const int64_t count = insn.y_size * insn.x_size;
    if (!store_fits(insn)) return out_of_sram(index, kOut, insn.sram_base, count);
    out_.begin(index);
    for (int64_t row = insn.sram_base; row < insn.sram_base + count; ++row) out_.read(row);
    out_.end();
    dram_.write(index, transfer(insn));
  }

  void compute(const Instruction& insn, int32_t index) {
    if (!decode_uops(insn, index)) return;
    const bool gemm = insn.opcode != kAlu;
    if (!gemm) check_alu_uops(insn, index);
    if (!gemm && insn.alu_opcode == kRequantize && (insn.imm & kKeep) != 0) return keep_parameters(insn, index);
    if (!find_rows(insn, index, dst_set_, &Uop::dst, kAcc, {insn.dst_factor_out, insn.dst_factor_in})) return;
    if (insn.opcode == kGemm && insn.reset) return write_acc(index, AccRow{true, true, 0, 0}, false);
    read_acc(dst_set_.rows, index);
    if (!gemm && insn.alu_opcode == kRequantize) return requantize(insn, index);
    const bool ok = gemm ? read_gemm_operands(insn, index) : insn.use_imm || read_alu_operand(insn, index);
    if (!ok) return;
    check_hazards(insn, index, sequence_, rules_, report_);
    write_acc(index, AccRow{true, false, 0, 0}, true);
  }

  void keep_parameters(const Instruction& insn, int32_t index) {
    Instruction first = insn;
    first.iter_out = 1;
    if (!find_parameters(first, index)) return;
    read_acc(acc_src_set_.rows, index);
    if ((insn.imm & kLooksUp) != 0) read_table(index);
  }

  void requantize(const Instruction& insn, int32_t index) {
    if (!find_parameters(insn, index)) return;
    read_acc(acc_src_set_.rows, index);
    const bool wide = (insn.imm & kWide) != 0;
    if (!wide && (insn.imm & kLooksUp) != 0) read_table(index);
    const int64_t rows = insn.iter_out * insn.iter_in * static_cast<int64_t>(sequence_.size());
    if (wide && dst_set_.rows.size() < rows) report_.add(kWrittenTwice, kComputeUnit, index);
    check_parameters_kept(index);
    write_acc(index, wide ? AccRow{true, false, 0, 0} : AccRow{true, true, 0, 0}, true);
  }

  // Sets `acc_src_set_` to the rows of the parameters; false, with a finding, if some lie outside the memory.
  bool find_parameters(const Instruction& insn, int32_t index) {
    const AffineLoops loops{insn.iter_out, insn.src_factor_out, kParameterRows, insn.src_factor_in};
    const int64_t base = sequence_[0].src;
    if (base + loops.reach() >= geometry_.depth(kAcc)) {
      out_of_sram(index, kAcc, base, loops.reach() + 1, insn.uop_bgn);
      return false;
    }
    acc_src_set_.bases.clear();
    acc_src_set_.bases.add(base);
    acc_src_set_.expand(loops);
    return true;
  }

  void check_parameters_kept(int32_t index) {
    int64_t first = -1, count = 0;
    acc_src_set_.rows.for_each([&](int64_t row) {
      if (dst_set_.rows.has(row) && count++ == 0) first = row;
    });
    if (count == 0) return;
    Finding& finding = report_.add(kParameterWritten, kComputeUnit, index);
    finding.memory = kAcc;
    finding.first = first;
    finding.count = count;
  }

  void read_table(int32_t index) {
    const auto missing = std::find(table_.begin(), table_.end(), false);
    if (missing == table_.end()) return;
    report_uninitialized(kTable, index, missing - table_.begin(), std::count(table_.begin(), table_.end(), false));
    std::fill(table_.begin(), table_.end(), true);
  }

  // Fills `sequence_`; false if the micro-ops are not known.
  bool decode_uops(const Instruction& insn, int32_t index) {
    if (insn.uop_end > rules_.uop_depth) {
      out_of_sram(index, kUop, insn.uop_bgn, insn.uop_end - insn.uop_bgn);
      return false;
    }
    const int dst_bits = geometry_.log_depth[kAcc];
    const int src_bits = std::max(dst_bits, geometry_.log_depth[kInp]);
    sequence_.clear();
    for (int64_t row = insn.uop_bgn; row < insn.uop_end; ++row) {
      const UopRow& uop = uops_[row];
      if (uop.state == UopRow::kUnknown) return false;
      if (uop.state == UopRow::kNone) {
        report_uninitialized(kUop, index, row, 1);
        return false;
      }
      const uint64_t word = uop.word;
      sequence_.push_back({static_cast<int64_t>(word & ((1u << dst_bits) - 1)),
                           static_cast<int64_t>((word >> dst_bits) & ((1u << src_bits) - 1)),
                           static_cast<int64_t>((word >> (dst_bits + src_bits)) & (geometry_.depth(kWgt) - 1))});
    }
    return true;
  }

  void check_alu_uops(const Instruction& insn, int32_t index) {
    const bool same_loops = (insn.iter_out == 1 || insn.dst_factor_out == insn.src_factor_out) &&
                            (insn.iter_in == 1 || insn.dst_factor_in == insn.src_factor_in);
    for (size_t step = 0; step < sequence_.size(); ++step) {
      const Uop& uop = sequence_[step];
      if (uop.wgt != 0) return report_uop(kAluWeightIndex, index, insn.uop_bgn + step);
      const bool reads_elsewhere = insn.use_imm && rules_.immediate_reads_src && (uop.dst != uop.src || !same_loops);
      if (reads_elsewhere) return report_uop(kImmediateSource, index, insn.uop_bgn + step);
    }
  }

  void report_uop(Kind kind, int32_t index, int64_t uop) {
    report_.add(kind, kComputeUnit, index).first = uop;
  }

  struct Factors {
    int64_t out, in;
  };

  // Finds the rows that one side of the loops touches; false, with a finding, if some lie outside the memory.
  bool find_rows(const Instruction& insn, int32_t index, AffineRows& set, int64_t Uop::*side, Memory memory,
                 const Factors& factors) {
    const AffineLoops loops{insn.iter_out, factors.out, insn.iter_in, factors.in};
    const int64_t depth = geometry_.depth(memory);
    set.bases.clear();
    for (size_t step = 0; step < sequence_.size(); ++step) {
      const int64_t base = sequence_[step].*side;
      if (base + loops.reach() >= depth) {
        out_of_sram(index, memory, base, loops.reach() + 1, insn.uop_bgn + static_cast<int64_t>(step));
        return false;
      }
      set.bases.add(base);
    }
    set.expand(loops);
    return true;
  }

  bool read_gemm_operands(const Instruction& insn, int32_t index) {
    if (!find_rows(insn, index, inp_set_, &Uop::src, kInp, {insn.src_factor_out, insn.src_factor_in})) return false;
    if (!find_rows(insn, index, wgt_set_, &Uop::wgt, kWgt, {insn.wgt_factor_out, insn.wgt_factor_in})) return false;
    if (insn.opcode == kDepthwise && !add_taps(insn, index)) return false;
    read_shared(inp_, inp_set_.rows, index);
    read_shared(wgt_, wgt_set_.rows, index);
    return true;
  }

  // Adds the further rows of input that DEPTHWISE reads; false, with a finding, if some lie outside the memory.
  bool add_taps(const Instruction& insn, int32_t index) {
    const int64_t depth = geometry_.depth(kInp);
    for (int64_t row = depth - kTaps + 1; row < depth; ++row) {
      if (!inp_set_.rows.has(row)) continue;
      out_of_sram(index, kInp, row, kTaps, insn.uop_bgn);
      return false;
    }
    const RowSet first = inp_set_.rows;
    for (int64_t tap = 1; tap < kTaps; ++tap) inp_set_.rows.add_shifted(first, tap);
    return true;
  }

  void read_shared(SharedRows& memory, const RowSet& rows, int32_t index) {
    memory.begin(index);
    rows.for_each([&](int64_t row) { memory.read(row); });
    memory.end();
  }

  bool read_alu_operand(const Instruction& insn, int32_t index) {
    if (!find_rows(insn, index, acc_src_set_, &Uop::src, kAcc, {insn.src_factor_out, insn.src_factor_in})) return false;
    read_acc(acc_src_set_.rows, index);
    if (insn.alu_opcode == kShr) check_register_shifts(index);
    return true;
  }

  void read_acc(const RowSet& rows, int32_t index) {
    int64_t first = -1, count = 0;
    rows.for_each([&](int64_t row) {
      if (acc_[row].written) return;
      acc_[row].written = true;
      if (count++ == 0) first = row;
    });
    if (count > 0) report_uninitialized(kAcc, index, first, count);
  }

  void check_register_shifts(int32_t index) {
    const int32_t lowest = rules_.register_shift_left ? rules_.shift_min : 0;
    int64_t first = -1, count = 0, amount = 0;
    acc_src_set_.rows.for_each([&](int64_t row) {
      const AccRow& state = acc_[row];
      if (!state.known || (state.low >= lowest && state.high <= rules_.shift_max)) return;
      if (count++ == 0) first = row, amount = state.low < lowest ? state.low : state.high;
    });
    if (count == 0) return;
    Finding& finding = report_.add(kRegisterShift, kComputeUnit, index);
    finding.memory = kAcc;
    finding.first = first;
    finding.count = count;
    finding.detail = amount;
  }

  // Results go to ACC and, where the target has them agree, to OUT.
  void write_acc(int32_t index, const AccRow& result, bool out_valid) {
    out_.begin(index);
    dst_set_.rows.for_each([&](int64_t row) {
      acc_[row] = result;
      out_.write(row, out_valid || rules_.store_reads_acc);
    });
    out_.end();
  }

  void report_uninitialized(Memory memory, int32_t index, int64_t first, int64_t count) {
    Finding& finding = report_.add(kUninitializedSram, kComputeUnit, index);
    finding.memory = memory;
    finding.first = first;
    finding.count = count;
  }

  const Geometry& geometry_;
  const Rules& rules_;
  const vta_verify_program& program_;
  Report& report_;
  Schedule schedule_;
  Dram dram_;
  SharedRows inp_, wgt_, out_;
  std::vector<AccRow> acc_;
  std::vector<bool> table_;  // whether a row was loaded
  std::vector<UopRow> uops_;
  AffineRows dst_set_, acc_src_set_, inp_set_, wgt_set_;
  std::vector<Uop> sequence_;
};

}  // namespace
}  // namespace vta::verify

extern "C" int64_t vta_verify(const vta_geometry* geometry, const vta_verify_rules* rules,
                              const vta_verify_program* program, vta_verify_finding* findings, int64_t capacity) {
  using namespace vta::verify;
  Report report(findings, capacity);
  const Geometry sizes(*geometry);
  std::make_unique<Verifier>(sizes, *rules, *program, report)->run();
  return report.count();
}
