#include "emit/stream.h"

namespace vta {

namespace {

enum { kLoad = 0, kStore = 1, kGemm = 2, kFinish = 3, kAlu = 4 };
constexpr int kReset = 15;

// Fields one after the other, from the lowest bit on, in two words.
class Bits {
 public:
  void put(int64_t value, int width) {
    fits_ &= value >= 0 && value < (int64_t{1} << width);
    words_[at_ / 64] |= static_cast<uint64_t>(value) << at_ % 64;
    at_ += width;
  }

  void put_signed(int64_t value, int width) {
    const int64_t half = int64_t{1} << (width - 1);
    fits_ &= value >= -half && value < half;
    words_[at_ / 64] |= (static_cast<uint64_t>(value) & ((uint64_t{1} << width) - 1)) << at_ % 64;
    at_ += width;
  }

  void second_word() { at_ = 64; }

  bool write(Packed& packed) const {
    packed = words_;
    return fits_;
  }

 private:
  Packed words_ = {0, 0};
  int at_ = 0;
  bool fits_ = true;
};

}  // namespace

bool encode(const Instruction& instruction, const Geometry& geometry, Packed& packed) {
  const int uop = geometry.log_rows(Memory::kUop), acc = geometry.log_rows(Memory::kAcc);
  const int inp = geometry.log_rows(Memory::kInp), wgt = geometry.log_rows(Memory::kWgt);
  const int64_t opcode = instruction[0];
  const int64_t* field = instruction.data();
  Bits bits;
  bits.put(*field++, 3);
  for (int flag = 0; flag < 4; ++flag) bits.put(*field++, 1);
  if (opcode == kLoad || opcode == kStore) {
    for (int width : {3, 16, 32}) bits.put(*field++, width);
    bits.second_word();
    for (int width : {16, 16, 16, 4, 4, 4, 4}) bits.put(*field++, width);
  } else if (opcode != kFinish) {
    field = instruction.data() + kReset;
    for (int width : {1, uop, uop + 1, 14, 14}) bits.put(*field++, width);
    bits.second_word();
    const int src = opcode == kAlu ? acc : inp;
    for (int width : {acc, acc, src, src}) bits.put(*field++, width);
    if (opcode == kGemm) {
      for (int width : {wgt, wgt}) bits.put(*field++, width);
    } else {
      field += 2;
      for (int width : {3, 1}) bits.put(*field++, width);
      bits.put_signed(*field, 16);
    }
  }
  return bits.write(packed);
}

}  // namespace vta
