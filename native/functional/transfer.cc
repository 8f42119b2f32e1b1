// LOAD and STORE.
#include <cstring>

#include "isa/counters.h"
#include "functional/engine.h"

namespace vta {

namespace {

int64_t row_length(const Transfer& transfer) { return transfer.x_pad_0 + transfer.x_size + transfer.x_pad_1; }

// Bytes of DRAM for one byte of dram_written. Divides every element.
constexpr int64_t kGrain = 4;

std::string text(int64_t value) { return std::to_string(value); }

}  // namespace

// Returns the cost. A transfer of no elements only carries tokens.
int64_t FunctionalEngine::load(const Transfer& transfer) {
  if (transfer.x_size == 0) return 0;
  const auto memory = static_cast<Memory>(transfer.memory_type);
  if (!geometry_.loads(transfer.memory_type)) {
    fail_here("LOAD has memory_type " + text(transfer.memory_type) + "; allowed: " + geometry_.loaded_types());
  }
  const int64_t rows = row_length(transfer) * (transfer.y_pad_0 + transfer.y_size + transfer.y_pad_1);
  check_transfer(transfer, memory, rows);
  check_dram_written(transfer, memory);
  copy_in(transfer, memory);
  const Memory counted = memory == Memory::kAcc8 ? Memory::kAcc : memory;
  count(bytes_counter(memory), transfer.x_size * transfer.y_size * geometry_.elem_bytes(counted));
  return rows * geometry_.elem_bytes(counted);
}

int64_t FunctionalEngine::store(const Transfer& transfer) {
  if (transfer.x_size == 0) return 0;
  if (transfer.memory_type != static_cast<uint8_t>(Memory::kOut)) {
    fail_here("STORE has memory_type " + text(transfer.memory_type) + "; allowed: 4 (OUT)");
  }
  if (transfer.x_pad_0 + transfer.x_pad_1 + transfer.y_pad_0 + transfer.y_pad_1 != 0) {
    fail_here("STORE has padding (x_pad_0 " + text(transfer.x_pad_0) + ", x_pad_1 " + text(transfer.x_pad_1) + ", y_pad_0 " +
              text(transfer.y_pad_0) + ", y_pad_1 " + text(transfer.y_pad_1) + "); allowed: 0");
  }
  const int64_t rows = transfer.x_size * transfer.y_size;
  check_transfer(transfer, Memory::kOut, rows);
  const int64_t end = transfer.sram_base + rows;
  if (job_.checks != 0) {
    const int64_t missing = scratchpad_.written(Memory::kOut).first_missing(transfer.sram_base, end);
    if (missing < end) fail_here("STORE reads OUT row " + text(missing) + ", which no GEMM or ALU has written");
  }
  copy_out(transfer);
  const int64_t bytes = geometry_.elem_bytes(Memory::kOut);
  count(&vta_functional_counters::out_bytes, rows * bytes);
  return rows * bytes;
}

void FunctionalEngine::copy_out(const Transfer& transfer) {
  const int64_t bytes = geometry_.elem_bytes(Memory::kOut);
  for (int64_t y = 0; y < transfer.y_size; ++y) {
    const int64_t address = (transfer.dram_base + y * transfer.x_stride) * bytes;
    const auto length = static_cast<size_t>(transfer.x_size * bytes);
    std::memcpy(job_.dram + address, scratchpad_.out_row(transfer.sram_base + y * transfer.x_size), length);
    if (job_.dram_written != nullptr) std::memset(job_.dram_written + address / kGrain, 1, length / kGrain);
  }
}

void FunctionalEngine::check_transfer(const Transfer& transfer, Memory memory, int64_t sram_rows) const {
  const auto name = [memory] { return std::string(memory == Memory::kOut ? "STORE " : "LOAD ") + memory_name(memory); };
  const int64_t depth = geometry_.depth(memory);
  if (transfer.sram_base + sram_rows > depth) {
    fail_here(name() + " reaches SRAM row " + text(transfer.sram_base + sram_rows - 1) + " (sram_base " + text(transfer.sram_base) +
              ", " + text(sram_rows) + " rows); the last row is " + text(depth - 1));
  }
  if (transfer.y_size == 0) return;
  const int64_t bytes = geometry_.elem_bytes(memory);
  const int64_t end = (transfer.dram_base + (transfer.y_size - 1) * transfer.x_stride + transfer.x_size) * bytes;
  if (static_cast<uint64_t>(end) > job_.dram_bytes) {
    fail_here(name() + " reaches DRAM byte " + text(end - 1) + " (dram_base " + text(transfer.dram_base) + " of " + text(bytes) +
              " bytes, y_size " + text(transfer.y_size) + ", x_size " + text(transfer.x_size) + ", x_stride " +
              text(transfer.x_stride) + "); device memory has " + std::to_string(job_.dram_bytes) + " bytes");
  }
}

void FunctionalEngine::check_dram_written(const Transfer& transfer, Memory memory) const {
  if (job_.dram_checks == 0 || job_.dram_written == nullptr) return;
  const int64_t bytes = geometry_.elem_bytes(memory);
  for (int64_t y = 0; y < transfer.y_size; ++y) {
    const uint8_t* marks = job_.dram_written + (transfer.dram_base + y * transfer.x_stride) * bytes / kGrain;
    const void* missing = std::memchr(marks, 0, static_cast<size_t>(transfer.x_size * bytes / kGrain));
    if (missing == nullptr) continue;
    const int64_t address = (static_cast<const uint8_t*>(missing) - job_.dram_written) * kGrain;
    fail_here(std::string("LOAD ") + memory_name(memory) + " reads DRAM byte " + text(address) + ", which nothing has written");
  }
}

void FunctionalEngine::copy_in(const Transfer& transfer, Memory memory) {
  const int64_t bytes = geometry_.elem_bytes(memory);
  const int64_t length = row_length(transfer);
  int64_t row = transfer.sram_base;
  const auto pad = [&](int64_t rows) {
    if (rows > 0) scratchpad_.load_zeros(memory, row, rows);
    row += rows;
  };
  pad(transfer.y_pad_0 * length);
  for (int64_t y = 0; y < transfer.y_size; ++y) {
    pad(transfer.x_pad_0);
    const int64_t element = transfer.dram_base + y * transfer.x_stride;
    scratchpad_.load(memory, row, job_.dram + element * bytes, transfer.x_size);
    row += transfer.x_size;
    pad(transfer.x_pad_1);
  }
  pad(transfer.y_pad_1 * length);
}

}  // namespace vta
