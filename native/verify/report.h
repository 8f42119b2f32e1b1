// Kinds of finding and the list that they go to.
#pragma once

#include <cstdint>

#include "vta_verify.h"

namespace vta::verify {

using Instruction = vta_verify_instruction;
using Rules = vta_verify_rules;
using Finding = vta_verify_finding;

enum Kind : int32_t {
  kDeadlock = 0,
  kTokenOverflow,
  kLeftoverToken,
  kUnfinished,
  kSramBounds,
  kDramBounds,
  kReadOnlyStore,
  kUninitializedSram,
  kUninitializedDram,
  kUnknownUops,
  kSramRace,
  kDramRace,
  kUnwrittenOutput,
  kAluWeightIndex,
  kImmediateSource,
  kRegisterShift,
  kRepeatedDst,
  kReadAfterWrite,
  kWrittenTwice,
  kParameterWritten,
};

enum Opcode : int64_t { kLoad = 0, kStore = 1, kGemm = 2, kFinish = 3, kAlu = 4, kDepthwise = 5 };
// Rows of input that DEPTHWISE reads for each row of results.
constexpr int64_t kTaps = 3;
enum AluOp : int64_t { kShr = 3, kRequantize = 5 };
// Of `imm` of REQUANTIZE; rows of its parameters.
constexpr int64_t kWide = 1, kLooksUp = 2, kKeep = 4, kParameterRows = 3;
enum Memory : int32_t { kUop = 0, kWgt = 1, kInp = 2, kAcc = 3, kOut = 4, kAcc8 = 5, kTable = 6 };
enum Unit : int32_t { kLoadUnit = 0, kComputeUnit = 1, kStoreUnit = 2 };
constexpr int kUnits = 3;

inline Unit unit_of(const Instruction& insn) {
  if (insn.opcode == kStore) return kStoreUnit;
  const bool loads = insn.opcode == kLoad && (insn.memory_type == kInp || insn.memory_type == kWgt);
  return loads ? kLoadUnit : kComputeUnit;
}

// Collects findings up to a capacity; more are counted no further.
class Report {
 public:
  Report(Finding* findings, int64_t capacity) : findings_(findings), capacity_(capacity) {}

  // Adds a finding with every optional member unset and returns it to be filled in.
  Finding& add(Kind kind, Unit unit, int64_t instruction) {
    Finding& finding = count_ < capacity_ ? findings_[count_++] : overflow_;
    finding = Finding{kind, unit, instruction, -1, -1, -1, -1, -1, -1};
    return finding;
  }
  int64_t count() const { return count_; }

 private:
  Finding* findings_;
  int64_t capacity_;
  int64_t count_ = 0;
  Finding overflow_{};
};

}  // namespace vta::verify
