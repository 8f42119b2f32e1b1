#include "isa/instruction.h"

#include <algorithm>
#include <string>

#include "isa/engine_error.h"

namespace vta {

namespace {

// Slots at the end of a REQUANTIZE that do nothing.
constexpr int64_t kWideDrain = 6, kNarrowDrain = 1;

uint64_t read_little_endian(const uint8_t* bytes) {
  // One load, where the processor has one for it: compilers see that in a sum, not in a loop.
  return uint64_t{bytes[0]} | uint64_t{bytes[1]} << 8 | uint64_t{bytes[2]} << 16 | uint64_t{bytes[3]} << 24 |
         uint64_t{bytes[4]} << 32 | uint64_t{bytes[5]} << 40 | uint64_t{bytes[6]} << 48 | uint64_t{bytes[7]} << 56;
}

int64_t bits(uint64_t word, int low, int width) {
  return static_cast<int64_t>(word >> low & ((uint64_t{1} << width) - 1));
}

// Takes fields off the low end of a word.
class FieldReader {
 public:
  FieldReader(uint64_t word, int low) : word_(word), low_(low) {}

  int64_t next(int width) {
    const int64_t value = bits(word_, low_, width);
    low_ += width;
    return value;
  }

  Factors factors(int width) {
    const int64_t outer = next(width);
    return {outer, next(width)};
  }

 private:
  uint64_t word_;
  int low_;
};

Nest decode_loops(FieldReader& fields, const Geometry& geometry) {
  const int uop = geometry.log_rows(Memory::kUop);
  Nest nest{};
  nest.reset = fields.next(1) != 0;
  nest.uop_bgn = fields.next(uop);
  nest.uop_end = fields.next(uop + 1);
  nest.iter_out = fields.next(14);
  nest.iter_in = fields.next(14);
  return nest;
}

}  // namespace

const char* unit_name(Unit unit) {
  static constexpr const char* kNames[] = {"load", "compute", "store"};
  return kNames[static_cast<int>(unit)];
}

Words read_words(const uint8_t* stream, uint64_t index) {
  const uint8_t* bytes = stream + index * kInstructionBytes;
  return {read_little_endian(bytes), read_little_endian(bytes + 8)};
}

Header decode_header(const Words& words) {
  Header header{};
  header.opcode = static_cast<uint8_t>(bits(words.low, 0, 3));
  header.pop_prev = bits(words.low, 3, 1) != 0;
  header.pop_next = bits(words.low, 4, 1) != 0;
  header.push_prev = bits(words.low, 5, 1) != 0;
  header.push_next = bits(words.low, 6, 1) != 0;
  const auto memory = static_cast<Memory>(bits(words.low, 7, 3));
  header.unit = Unit::kCompute;
  if (header.opcode == static_cast<uint8_t>(Opcode::kStore)) header.unit = Unit::kStore;
  if (header.opcode == static_cast<uint8_t>(Opcode::kLoad) && (memory == Memory::kInp || memory == Memory::kWgt)) {
    header.unit = Unit::kLoad;
  }
  return header;
}

void check_header(const Header& header, uint64_t index, const Geometry& geometry) {
  const int last = geometry.last_opcode();
  if (header.opcode > last) {
    fail(index, header.unit, "opcode " + std::to_string(header.opcode) + " is unknown; allowed: 0 to " + std::to_string(last));
  }
  if (header.unit == Unit::kLoad && (header.pop_prev || header.push_prev)) {
    fail(index, header.unit, std::string(header.pop_prev ? "pop_prev" : "push_prev") + " is set, but no unit comes before load");
  }
  if (header.unit == Unit::kStore && (header.pop_next || header.push_next)) {
    fail(index, header.unit, std::string(header.pop_next ? "pop_next" : "push_next") + " is set, but no unit comes after store");
  }
}

Transfer decode_transfer(const Words& words) {
  FieldReader low(words.low, 7);
  FieldReader high(words.high, 0);
  Transfer transfer{};
  transfer.memory_type = static_cast<uint8_t>(low.next(3));
  transfer.sram_base = low.next(16);
  transfer.dram_base = low.next(32);
  transfer.y_size = high.next(16);
  transfer.x_size = high.next(16);
  transfer.x_stride = high.next(16);
  transfer.y_pad_0 = high.next(4);
  transfer.y_pad_1 = high.next(4);
  transfer.x_pad_0 = high.next(4);
  transfer.x_pad_1 = high.next(4);
  return transfer;
}

int64_t Nest::slots() const {
  if (total() == 0) return 0;
  if (keeps()) return kRequantizeParameters;
  if (!requantizes()) return total() + (finishes ? kNarrowDrain : 0);
  return total() + iter_out * kRequantizeParameters + ((imm & kRequantizeWide) != 0 ? kWideDrain : kNarrowDrain);
}

Nest decode_gemm(const Words& words, const Geometry& geometry) {
  FieldReader low(words.low, 7), high(words.high, 0);
  Nest nest = decode_loops(low, geometry);
  nest.finishes = geometry.requantizes && low.next(1) != 0 && !nest.reset;
  nest.dst = high.factors(geometry.log_rows(Memory::kAcc));
  nest.src = high.factors(geometry.log_rows(Memory::kInp));
  nest.wgt = high.factors(geometry.log_rows(Memory::kWgt));
  return nest;
}

Nest decode_alu(const Words& words, const Geometry& geometry) {
  const int acc = geometry.log_rows(Memory::kAcc);
  FieldReader low(words.low, 7), high(words.high, 0);
  Nest nest = decode_loops(low, geometry);
  nest.dst = high.factors(acc);
  nest.src = high.factors(acc);
  nest.alu_op = static_cast<uint8_t>(high.next(3));
  nest.use_imm = high.next(1) != 0;
  nest.imm = static_cast<int16_t>(high.next(16));
  return nest;
}

UopDecoder::UopDecoder(const Geometry& geometry) {
  const int dst = geometry.log_rows(Memory::kAcc);
  const int src = std::max(dst, geometry.log_rows(Memory::kInp));
  const auto mask = [](int width) { return (uint32_t{1} << width) - 1; };
  src_low_ = dst;
  wgt_low_ = dst + src;
  dst_mask_ = mask(dst);
  src_mask_ = mask(src);
  wgt_mask_ = mask(geometry.log_rows(Memory::kWgt));
}

}  // namespace vta
