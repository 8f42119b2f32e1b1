#include "functional/scratchpad.h"

#include <algorithm>
#include <cstring>

namespace vta {

namespace {

RowMask mask_of(const Geometry& geometry, Memory memory) { return RowMask(geometry.depth(memory)); }

}  // namespace

Scratchpad::Scratchpad(const Geometry& geometry, const Kernels& kernels)
    : geometry_(geometry),
      kernels_(kernels),
      decode_uop_(geometry),
      zeros_(kZeroBytes),
      uops_(static_cast<size_t>(geometry.depth(Memory::kUop))),
      inp_(lines(geometry.depth(Memory::kInp) * kernels.inp_row_bytes)),
      wgt_(lines(geometry.depth(Memory::kWgt) * kernels.wgt_row_bytes)),
      acc_(lines(geometry.depth(Memory::kAcc) * geometry.lanes() * 4)),
      out_(lines(geometry.depth(Memory::kOut) * geometry.lanes())),
      written_{mask_of(geometry, Memory::kUop), mask_of(geometry, Memory::kWgt), mask_of(geometry, Memory::kInp),
               mask_of(geometry, Memory::kAcc), mask_of(geometry, Memory::kOut),
               mask_of(geometry, Memory::kTable)} {
  if (geometry.has_depthwise) {
    plain_inp_.resize(static_cast<size_t>(geometry.depth(Memory::kInp) * geometry.elem_bytes(Memory::kInp)));
    plain_wgt_.resize(static_cast<size_t>(geometry.depth(Memory::kWgt) * geometry.elem_bytes(Memory::kWgt)));
  }
  reset();
}

void Scratchpad::keep_plain(std::vector<uint8_t>& rows, Memory memory, int64_t row, const uint8_t* elements, int64_t count) {
  const int64_t bytes = geometry_.elem_bytes(memory);
  std::memcpy(rows.data() + row * bytes, elements, static_cast<size_t>(count * bytes));
}

void Scratchpad::reset() {
  for (Memory memory : {Memory::kUop, Memory::kWgt, Memory::kInp, Memory::kAcc, Memory::kTable}) {
    load_zeros(memory, 0, geometry_.depth(memory));
  }
  std::memset(out_.data(), 0, out_.size() * sizeof(Line));
  forget();
}

void Scratchpad::forget() {
  for (RowMask& mask : written_) mask.clear();
}

void Scratchpad::zero_unwritten() {
  for (Memory memory : {Memory::kUop, Memory::kWgt, Memory::kInp, Memory::kAcc, Memory::kTable, Memory::kOut}) {
    const RowMask mask = written(memory);
    const int64_t depth = geometry_.depth(memory);
    for (int64_t row = mask.first_missing(0, depth); row < depth; row = mask.first_missing(row + 1, depth)) {
      if (memory == Memory::kOut) {
        std::memset(out_.data()->bytes + row * geometry_.lanes(), 0, static_cast<size_t>(geometry_.lanes()));
      } else {
        load_zeros(memory, row, 1);
      }
    }
    written(memory) = mask;
  }
}

void Scratchpad::load(Memory memory, int64_t row, const uint8_t* elements, int64_t rows) {
  switch (memory) {
    case Memory::kUop:
      load_uops(row, elements, rows);
      break;
    case Memory::kWgt:
      if (!plain_wgt_.empty()) keep_plain(plain_wgt_, memory, row, elements, rows);
      kernels_.pack_wgt(geometry_, elements, rows, wgt_.data()->bytes + row * kernels_.wgt_row_bytes);
      break;
    case Memory::kInp:
      if (!plain_inp_.empty()) keep_plain(plain_inp_, memory, row, elements, rows);
      kernels_.pack_inp(geometry_, elements, rows, inp_.data()->bytes + row * kernels_.inp_row_bytes);
      break;
    case Memory::kAcc:
      load_acc(row, elements, rows);
      break;
    case Memory::kAcc8:
      load_acc8(row, elements, rows);
      break;
    case Memory::kTable:
      std::memcpy(table_.data() + 4 * row, elements, static_cast<size_t>(4 * rows));
      break;
    case Memory::kOut:
      break;
  }
  written(memory).set(row, row + rows);
}

void Scratchpad::load_zeros(Memory memory, int64_t row, int64_t rows) {
  const int64_t step = kZeroBytes / geometry_.elem_bytes(memory);
  for (int64_t done = 0; done < rows; done += step) load(memory, row + done, zeros_.data(), std::min(step, rows - done));
}

void Scratchpad::load_lines(int64_t row, const uint8_t* elements, int64_t distance, int64_t lines, int64_t rows, int64_t before,
                            int64_t after) {
  const int64_t bytes = kernels_.inp_row_bytes;
  uint8_t* to = inp_.data()->bytes + row * bytes;
  for (int64_t line = 0; line < lines; ++line, elements += distance) {
    if (before > 0) kernels_.pack_inp(geometry_, zeros_.data(), before, to);
    to += before * bytes;
    kernels_.pack_inp(geometry_, elements, rows, to);
    to += rows * bytes;
    if (after > 0) kernels_.pack_inp(geometry_, zeros_.data(), after, to);
    to += after * bytes;
  }
}

void Scratchpad::load_uops(int64_t row, const uint8_t* elements, int64_t rows) {
  Uop* target = uops_.data() + row;
  for (int64_t i = 0; i < rows; ++i, elements += 4) {
    const uint32_t word = elements[0] | uint32_t{elements[1]} << 8 | uint32_t{elements[2]} << 16 | uint32_t{elements[3]} << 24;
    target[i] = decode_uop_(word);
  }
}

void Scratchpad::load_acc(int64_t row, const uint8_t* elements, int64_t rows) {
  const int64_t count = rows * geometry_.lanes();
  int32_t* target = acc() + row * geometry_.lanes();
  if (!geometry_.narrow_acc()) {
    std::memcpy(target, elements, static_cast<size_t>(4 * count));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    int16_t value;
    std::memcpy(&value, elements + 2 * i, sizeof value);
    target[i] = value;
  }
}

void Scratchpad::load_acc8(int64_t row, const uint8_t* elements, int64_t rows) {
  const int64_t count = rows * geometry_.lanes();
  int32_t* target = acc() + row * geometry_.lanes();
  for (int64_t i = 0; i < count; ++i) target[i] = static_cast<int8_t>(elements[i]);
}

}  // namespace vta
