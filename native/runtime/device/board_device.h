// The accelerator of a board.
#ifndef VTA_RUNTIME_BOARD_DEVICE_H
#define VTA_RUNTIME_BOARD_DEVICE_H

#include <memory>

#include "runtime/device/control.h"
#include "runtime/device/device.h"

namespace vta {

class BoardDevice : public Device {
 public:
  // `registers` and `buffer` are device files. Throws FileError if they cannot be mapped, or the fabric holds something else.
  BoardDevice(const Board& board, const std::string& registers, const std::string& buffer, const vta_geometry& geometry,
              uint64_t memory_bytes);

  void reserve(uint64_t nbytes) override;
  uint64_t allocate(uint64_t nbytes) override;
  void write(uint64_t address, Span data) override;
  void read(uint64_t address, uint8_t* data, size_t nbytes) override;
  size_t load(std::vector<uint8_t> stream) override;
  void run(size_t stream, double limit_seconds) override;

 private:
  uint64_t available() const;

  ContiguousMemory memory_;
  uint64_t most_bytes_;
  uint64_t used_ = kPageBytes;  // of the memory, whose first page stays free
  std::unique_ptr<Control> control_;
  std::vector<Launch> launches_;  // the first one has no effect
};

}  // namespace vta

#endif
