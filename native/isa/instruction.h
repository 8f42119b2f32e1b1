// Instructions and micro-ops, decoded from their binary form.
#ifndef VTA_INSTRUCTION_H
#define VTA_INSTRUCTION_H

#include <cstdint>

#include "isa/geometry.h"

namespace vta {

enum class Opcode : uint8_t { kLoad = 0, kStore = 1, kGemm = 2, kFinish = 3, kAlu = 4, kDepthwise = 5 };
enum class AluOp : uint8_t { kMin = 0, kMax = 1, kAdd = 2, kShr = 3, kMul = 4, kRequantize = 5 };
enum class Unit : uint8_t { kLoad = 0, kCompute = 1, kStore = 2 };
constexpr int kUnitCount = 3;
constexpr int kInstructionBytes = 16;

const char* unit_name(Unit unit);

struct Words {
  uint64_t low;
  uint64_t high;
};

Words read_words(const uint8_t* stream, uint64_t index);

// The fields that every instruction has, and the unit that executes it.
struct Header {
  uint8_t opcode;  // raw: may be unknown
  Unit unit;
  bool pop_prev;
  bool pop_next;
  bool push_prev;
  bool push_next;
};

Header decode_header(const Words& words);

// Throws EngineError for an unknown opcode or a token flag of a unit that does not exist.
void check_header(const Header& header, uint64_t index, const Geometry& geometry);

struct Transfer {
  uint8_t memory_type;  // raw: may be unknown
  int64_t sram_base;
  int64_t dram_base;
  int64_t y_size;
  int64_t x_size;
  int64_t x_stride;
  int64_t y_pad_0;
  int64_t y_pad_1;
  int64_t x_pad_0;
  int64_t x_pad_1;
};

Transfer decode_transfer(const Words& words);

// One index of the loop nest: value = base of the micro-op + o * outer + i * inner.
struct Factors {
  int64_t outer;
  int64_t inner;
};

// Rows of input that DEPTHWISE reads for each row of results.
constexpr int64_t kDepthwiseTaps = 3;
// Of `imm` of REQUANTIZE.
constexpr int32_t kRequantizeWide = 1, kRequantizeTable = 2, kRequantizeKeep = 4;
// Rows of parameters, and so micro-op slots, of each outer iteration of a REQUANTIZE.
constexpr int64_t kRequantizeParameters = 3;

// GEMM and ALU. GEMM has wgt and finishes; ALU has alu_op (raw), use_imm and imm.
struct Nest {
  bool reset;
  bool finishes;  // the row of the last micro-op is requantized
  int64_t uop_bgn;
  int64_t uop_end;
  int64_t iter_out;
  int64_t iter_in;
  Factors dst;
  Factors src;
  Factors wgt;
  uint8_t alu_op;
  bool use_imm;
  int32_t imm;

  int64_t uops() const { return uop_end > uop_bgn ? uop_end - uop_bgn : 0; }
  int64_t total() const { return iter_out * iter_in * uops(); }
  bool requantizes() const { return alu_op == static_cast<uint8_t>(AluOp::kRequantize); }  // of an ALU instruction
  bool keeps() const { return requantizes() && (imm & kRequantizeKeep) != 0; }             // reads parameters, and no rows
  int64_t steps() const { return keeps() ? 0 : total(); }
  // Cycles in which the compute unit issues it; 0 if there is no micro-op.
  int64_t slots() const;
};

Nest decode_gemm(const Words& words, const Geometry& geometry);
Nest decode_alu(const Words& words, const Geometry& geometry);

struct Uop {
  uint16_t dst;
  uint16_t src;
  uint16_t wgt;
};

// Decodes micro-op words, for one geometry.
class UopDecoder {
 public:
  explicit UopDecoder(const Geometry& geometry);

  Uop operator()(uint32_t word) const {
    return {static_cast<uint16_t>(word & dst_mask_), static_cast<uint16_t>(word >> src_low_ & src_mask_),
            static_cast<uint16_t>(word >> wgt_low_ & wgt_mask_)};
  }

 private:
  int src_low_;
  int wgt_low_;
  uint32_t dst_mask_;
  uint32_t src_mask_;
  uint32_t wgt_mask_;
};

}  // namespace vta

#endif
