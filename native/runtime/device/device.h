// What runs the programs of regions.
#ifndef VTA_RUNTIME_DEVICE_H
#define VTA_RUNTIME_DEVICE_H

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/file/bytes.h"
#include "vta_common.h"

namespace vta {

constexpr uint64_t kPageBytes = 4096;

inline uint64_t whole_pages(uint64_t nbytes) { return (nbytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Makes room for all that will be allocated, `nbytes` of whole pages. Throws FileError with the bytes needed and available.
  virtual void reserve(uint64_t nbytes) = 0;

  // Whole pages; returns the first byte's address as the accelerator sees it.
  virtual uint64_t allocate(uint64_t nbytes) = 0;

  // Bytes inside of what was allocated.
  virtual void write(uint64_t address, Span data) = 0;
  virtual void read(uint64_t address, uint8_t* data, size_t nbytes) = 0;

  // Puts a stream, 16 bytes an instruction, where the accelerator reads it; returns what `run` takes.
  virtual size_t load(std::vector<uint8_t> stream) = 0;

  // Runs a stream. Throws std::runtime_error if it fails, or does not end within the limit.
  virtual void run(size_t stream, double limit_seconds) = 0;
};

}  // namespace vta

#endif
