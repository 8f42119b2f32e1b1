#include "emit/instruction_row.h"

#include <algorithm>

namespace vta {

namespace {

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

constexpr int kTokenFlags = 4;

void put_transfer(Bits& bits, const int64_t* field, int64_t dram) {
  for (int width : {3, 16}) bits.put(*field++, width);
  bits.put(*field++ + dram, 32);
  bits.second_word();
  for (int width : {16, 16, 16, 4, 4, 4, 4}) bits.put(*field++, width);
}

void put_compute(Bits& bits, const int64_t* field, bool gemm, const Geometry& geometry) {
  const int uop = geometry.log_rows(Memory::kUop), acc = geometry.log_rows(Memory::kAcc);
  const int src = gemm ? geometry.log_rows(Memory::kInp) : acc, wgt = geometry.log_rows(Memory::kWgt);
  const int64_t finishes = field[kImm];
  for (int width : {1, uop, uop + 1, 14, 14}) bits.put(*field++, width);
  if (gemm && geometry.requantizes) bits.put(finishes, 1);
  bits.second_word();
  for (int width : {acc, acc, src, src}) bits.put(*field++, width);
  if (gemm) {
    for (int width : {wgt, wgt}) bits.put(*field++, width);
    return;
  }
  field += 2;
  for (int width : {3, 1}) bits.put(*field++, width);
  bits.put_signed(*field, 16);
}

}  // namespace

void InstructionRow::write(int64_t* all) const {
  std::fill(all, all + kAllFields, 0);
  all[0] = static_cast<int64_t>(opcode);
  if (transfers()) {
    std::copy(fields.begin(), fields.begin() + kTransferFields, all + kTransferField);
  } else {
    std::copy(fields.begin(), fields.end(), all + kComputeField);
  }
}

bool encode(const InstructionRow& row, int64_t dram, const Geometry& geometry, Packed& packed) {
  Bits bits;
  bits.put(static_cast<int64_t>(row.opcode), kFlagBit);
  bits.put(0, kTokenFlags);
  if (row.transfers()) {
    put_transfer(bits, row.fields.data(), dram);
  } else {
    put_compute(bits, row.fields.data(), row.opcode != Opcode::kAlu, geometry);
  }
  return bits.write(packed);
}

}  // namespace vta
