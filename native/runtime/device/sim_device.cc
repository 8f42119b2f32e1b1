#include "runtime/device/sim_device.h"

#include <chrono>
#include <cstring>
#include <stdexcept>

#include "runtime/file/file_error.h"

namespace vta {

namespace {

// Work between two looks at the clock: a few milliseconds to some tenths of a second.
constexpr uint64_t kStepMacs = uint64_t{1} << 26;

}  // namespace

SimDevice::SimDevice(const vta_geometry& geometry, uint64_t memory_bytes) : most_bytes_(memory_bytes) {
  char error[512] = "";
  engine_.reset(vta_functional_create(&geometry, VTA_KERNEL_BEST, error, sizeof error));
  if (engine_ == nullptr) throw FileError(error);
}

void SimDevice::reserve(uint64_t nbytes) {
  if (nbytes + kPageBytes > most_bytes_) {
    throw FileError("out of device memory: " + std::to_string(nbytes) + " bytes needed, " +
                    std::to_string(most_bytes_ > kPageBytes ? most_bytes_ - kPageBytes : 0) + " available");
  }
  memory_.resize(static_cast<size_t>(nbytes + kPageBytes));
}

uint64_t SimDevice::allocate(uint64_t nbytes) {
  const uint64_t address = used_;
  used_ += whole_pages(nbytes);
  if (used_ > memory_.size()) throw std::logic_error("more device memory than was reserved");
  return address;
}

void SimDevice::write(uint64_t address, Span data) {
  if (data.size > 0) std::memcpy(memory_.data() + address, data.data, data.size);
}

void SimDevice::read(uint64_t address, uint8_t* data, size_t nbytes) {
  if (nbytes > 0) std::memcpy(data, memory_.data() + address, nbytes);
}

size_t SimDevice::load(std::vector<uint8_t> stream) {
  streams_.push_back(std::move(stream));
  return streams_.size() - 1;
}

void SimDevice::run(size_t stream, double limit_seconds) {
  vta_functional_job job{};
  job.stream = streams_[stream].data();
  job.last = streams_[stream].size() / 16;
  job.dram = memory_.data();
  job.dram_bytes = memory_.size();
  job.checks = 1;
  vta_functional_reset(engine_.get());
  const auto start = std::chrono::steady_clock::now();
  int32_t status = vta_functional_begin(engine_.get(), &job);
  while (status == VTA_MORE) {
    status = vta_functional_step(engine_.get(), kStepMacs);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (status == VTA_MORE && passed.count() > limit_seconds) {
      throw std::runtime_error("time limit: not done after " + std::to_string(limit_seconds) + " s");
    }
  }
  if (status == VTA_FAILED) throw std::runtime_error(vta_functional_error(engine_.get()));
}

}  // namespace vta
