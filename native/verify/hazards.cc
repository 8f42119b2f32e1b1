#include "verify/hazards.h"

#include <algorithm>

namespace vta::verify {
namespace {

// True if constant + out * slope_out + in * slope_in is 0 somewhere in the given loops.
bool vanishes(int64_t constant, int64_t slope_out, int64_t count_out, int64_t slope_in, int64_t count_in) {
  if (count_out <= 0 || count_in <= 0) return false;
  if (slope_out == 0) count_out = 1;
  for (int64_t out = 0; out < count_out; ++out) {
    const int64_t rest = -(constant + out * slope_out);
    if (slope_in == 0) {
      if (rest == 0) return true;
    } else if (rest % slope_in == 0 && rest / slope_in >= 0 && rest / slope_in < count_in) {
      return true;
    }
  }
  return false;
}

class Checker {
 public:
  Checker(const Instruction& insn, int32_t index, const std::vector<Uop>& uops, const Rules& rules, Report& report)
      : insn_(insn), index_(index), uops_(uops), rules_(rules), report_(report) {}

  void check_repeated_dst() {
    const int64_t count = static_cast<int64_t>(uops_.size());
    for (int64_t later = 1; later < count; ++later) {
      const int64_t oldest = std::max<int64_t>(0, later - rules_.uop_dst_distance + 1);
      for (int64_t earlier = oldest; earlier < later; ++earlier) {
        if (uops_[earlier].dst == uops_[later].dst) return add(kRepeatedDst, later, later - earlier);
      }
    }
  }

  // The operand that is read too early: src in tensor mode; in immediate mode the row that is also the destination.
  void check_read_after_write() {
    const int64_t count = static_cast<int64_t>(uops_.size());
    const int64_t distance = rules_.loops_flattened ? 2 : std::max(2, rules_.uop_dst_distance);
    for (int64_t later = 1; later < count; ++later) {
      for (int64_t earlier = std::max<int64_t>(0, later - distance + 1); earlier < later; ++earlier) {
        if (collides(later, earlier)) return add(kReadAfterWrite, later, later - earlier);
      }
    }
    if (rules_.loops_flattened && wraps(count - 1)) add(kReadAfterWrite, 0, 1);
  }

 private:
  int64_t read_row(int64_t uop) const { return insn_.use_imm ? uops_[uop].dst : uops_[uop].src; }
  int64_t read_out() const { return insn_.use_imm ? insn_.dst_factor_out : insn_.src_factor_out; }
  int64_t read_in() const { return insn_.use_imm ? insn_.dst_factor_in : insn_.src_factor_in; }

  bool collides(int64_t later, int64_t earlier) const {
    return vanishes(read_row(later) - uops_[earlier].dst, read_out() - insn_.dst_factor_out, insn_.iter_out,
                    read_in() - insn_.dst_factor_in, insn_.iter_in);
  }

  // Does the first micro-op of an iteration read what the last one of the iteration before wrote?
  bool wraps(int64_t last) const {
    const int64_t apart = read_row(0) - uops_[last].dst;
    const int64_t out = read_out() - insn_.dst_factor_out, in = read_in() - insn_.dst_factor_in;
    if (vanishes(apart + read_in(), out, insn_.iter_out, in, insn_.iter_in - 1)) return true;
    const int64_t inner_end = (insn_.iter_in - 1) * insn_.dst_factor_in;
    return vanishes(apart + read_out() - inner_end, out, insn_.iter_out - 1, 0, 1);
  }

  void add(Kind kind, int64_t uop, int64_t distance) {
    Finding& finding = report_.add(kind, kComputeUnit, index_);
    finding.first = insn_.uop_bgn + uop;
    finding.detail = distance;
  }

  const Instruction& insn_;
  int32_t index_;
  const std::vector<Uop>& uops_;
  const Rules& rules_;
  Report& report_;
};

}  // namespace

void check_hazards(const Instruction& insn, int32_t index, const std::vector<Uop>& uops, const Rules& rules,
                   Report& report) {
  Checker checker(insn, index, uops, rules, report);
  if (rules.uop_dst_distance > 1) checker.check_repeated_dst();
  if (insn.opcode == kAlu && !rules.alu_forwarding) checker.check_read_after_write();
}

}  // namespace vta::verify
