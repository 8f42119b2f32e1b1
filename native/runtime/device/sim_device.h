// The functional simulator as a device.
#ifndef VTA_RUNTIME_SIM_DEVICE_H
#define VTA_RUNTIME_SIM_DEVICE_H

#include <memory>

#include "runtime/device/device.h"
#include "vta_functional.h"

namespace vta {

class SimDevice : public Device {
 public:
  // With at most `memory_bytes` of device memory. Throws FileError if the geometry does not encode.
  SimDevice(const vta_geometry& geometry, uint64_t memory_bytes);

  void reserve(uint64_t nbytes) override;
  uint64_t allocate(uint64_t nbytes) override;
  void write(uint64_t address, Span data) override;
  void read(uint64_t address, uint8_t* data, size_t nbytes) override;
  size_t load(std::vector<uint8_t> stream) override;
  void run(size_t stream, double limit_seconds) override;

 private:
  struct Destroy {
    void operator()(vta_functional* engine) const { vta_functional_destroy(engine); }
  };

  std::unique_ptr<vta_functional, Destroy> engine_;
  uint64_t most_bytes_;
  uint64_t used_ = kPageBytes;  // so that 0 is never an address
  std::vector<uint8_t> memory_;
  std::vector<std::vector<uint8_t>> streams_;
};

}  // namespace vta

#endif
