#include "runtime/device/board_device.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "runtime/file/file_error.h"

namespace vta {

namespace {

constexpr double kLongestPauseSeconds = 1e-3;
constexpr size_t kInstructionBytes = 16;

RegisterBlocks map_blocks(const Board& board, const std::string& path) {
  RegisterBlocks blocks;
  for (const auto& [name, base] : board.bases) blocks.emplace(name, map_registers(path, base, board.span));
  return blocks;
}

}  // namespace

BoardDevice::BoardDevice(const Board& board, const std::string& registers, const std::string& buffer, const vta_geometry& geometry,
                         uint64_t memory_bytes)
    : memory_(map_memory(buffer, board)),
      most_bytes_(std::min<uint64_t>(memory_bytes, memory_.words.size())),
      control_(make_control(board.registers, map_blocks(board, registers))) {
  try {
    control_->check(geometry, board.bus_bits);
  } catch (const FileError&) {
    throw;
  } catch (const std::runtime_error& problem) {
    throw FileError("board " + board.name + ": " + problem.what());
  }
}

uint64_t BoardDevice::available() const { return most_bytes_ > used_ ? (most_bytes_ - used_) / kPageBytes * kPageBytes : 0; }

void BoardDevice::reserve(uint64_t nbytes) {
  if (nbytes > available()) {
    throw FileError("out of device memory: " + std::to_string(nbytes) + " bytes needed, " + std::to_string(available()) + " available");
  }
  load(std::vector<uint8_t>(kInstructionBytes));
}

uint64_t BoardDevice::allocate(uint64_t nbytes) {
  const uint64_t size = whole_pages(std::max<uint64_t>(nbytes, 1));
  if (size > available()) {
    throw FileError("out of device memory: " + std::to_string(size) + " bytes needed, " + std::to_string(available()) + " available");
  }
  used_ += size;
  return memory_.address + used_ - size;
}

void BoardDevice::write(uint64_t address, Span data) { memory_.words.write(static_cast<size_t>(address - memory_.address), data); }

void BoardDevice::read(uint64_t address, uint8_t* data, size_t nbytes) {
  memory_.words.read(static_cast<size_t>(address - memory_.address), data, nbytes);
}

size_t BoardDevice::load(std::vector<uint8_t> stream) {
  const uint64_t address = allocate(stream.size());
  write(address, {stream.data(), stream.size()});
  launches_.push_back({static_cast<uint32_t>(address), static_cast<uint32_t>(stream.size() / kInstructionBytes)});
  return launches_.size() - 1;
}

void BoardDevice::run(size_t stream, double limit_seconds) {
  wait_for_memory();
  const auto start = std::chrono::steady_clock::now();
  control_->start(launches_[stream], launches_[0]);
  while (!control_->done()) {
    const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (waited > limit_seconds) {
      throw std::runtime_error("time limit: not done after " + std::to_string(limit_seconds) + " s; " + control_->halted());
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(waited / 8, kLongestPauseSeconds)));
  }
  wait_for_memory();
  control_->check_errors();
}

}  // namespace vta
