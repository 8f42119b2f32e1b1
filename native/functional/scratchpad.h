// The on-chip memories: contents, and which rows something has written.
#ifndef VTA_SCRATCHPAD_H
#define VTA_SCRATCHPAD_H

#include <array>
#include <cstdint>
#include <vector>

#include "isa/instruction.h"
#include "kernels/kernels.h"
#include "verify/row_mask.h"

namespace vta {

class Scratchpad {
 public:
  Scratchpad(const Geometry& geometry, const Kernels& kernels);

  // Zero everywhere, and nothing written.
  void reset();
  // Nothing written, whatever is there.
  void forget();
  // Zero where nothing is written.
  void zero_unwritten();

  // Fills rows from `row` on with elements as they are in DRAM, or with zeros. `memory` is not OUT.
  void load(Memory memory, int64_t row, const uint8_t* elements, int64_t rows);
  void load_zeros(Memory memory, int64_t row, int64_t rows);

  // At least as many as an element of any memory has.
  static constexpr int64_t kZeroBytes = 4096;

  // Lines of INP, as many rows each from `row` on, with `before` and `after` rows of zeros around each, which have kZeroBytes at most.
  // Which rows are written is left as it is. For geometries without DEPTHWISE.
  void load_lines(int64_t row, const uint8_t* elements, int64_t distance, int64_t lines, int64_t rows, int64_t before,
                  int64_t after);

  // Rows that something has written. ACC_8BIT is ACC.
  RowMask& written(Memory memory) {
    if (memory == Memory::kTable) return written_.back();
    return written_[static_cast<size_t>(memory == Memory::kAcc8 ? Memory::kAcc : memory)];
  }

  // The rows written in each memory.
  using Written = std::array<RowMask, 6>;
  const Written& all_written() const { return written_; }
  void set_all_written(const Written& written) { written_ = written; }

  const Uop* uops() const { return uops_.data(); }
  const uint8_t* inp() const { return inp_.data()->bytes; }
  const uint8_t* wgt() const { return wgt_.data()->bytes; }
  int32_t* acc() { return acc_.data()->lanes; }
  int8_t* out() { return reinterpret_cast<int8_t*>(out_.data()->bytes); }
  // Rows as they are in DRAM; only where the geometry has DEPTHWISE.
  const int8_t* plain_inp() const { return reinterpret_cast<const int8_t*>(plain_inp_.data()); }
  const int8_t* plain_wgt() const { return reinterpret_cast<const int8_t*>(plain_wgt_.data()); }
  const uint8_t* table() const { return table_.data(); }
  const uint8_t* out_row(int64_t row) const { return out_.data()->bytes + row * geometry_.lanes(); }

 private:
  // Rows start at cache lines where their size allows it.
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  struct alignas(64) AccLine {
    int32_t lanes[16];
  };

  static size_t lines(int64_t bytes) { return static_cast<size_t>((bytes + 63) / 64); }

  void load_uops(int64_t row, const uint8_t* elements, int64_t rows);
  void load_acc(int64_t row, const uint8_t* elements, int64_t rows);
  void load_acc8(int64_t row, const uint8_t* elements, int64_t rows);

  const Geometry geometry_;
  const Kernels kernels_;
  const UopDecoder decode_uop_;
  std::vector<uint8_t> zeros_;
  std::vector<Uop> uops_;
  std::vector<Line> inp_;
  std::vector<Line> wgt_;
  std::vector<AccLine> acc_;
  std::vector<Line> out_;
  void keep_plain(std::vector<uint8_t>& rows, Memory memory, int64_t row, const uint8_t* elements, int64_t count);

  std::array<uint8_t, kTableEntries> table_{};
  std::vector<uint8_t> plain_inp_;
  std::vector<uint8_t> plain_wgt_;
  Written written_;
};

}  // namespace vta

#endif
