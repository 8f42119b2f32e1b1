// The program of a region in the memory of a device.
#ifndef VTA_RUNTIME_REGION_H
#define VTA_RUNTIME_REGION_H

#include "runtime/device/device.h"
#include "runtime/plan/plan.h"

namespace vta {

// Throws FileError unless each instruction is one, the last one is FINISH, and all transfers stay inside the image.
void check_program(Span stream, const PlanRegion& region, const vta_geometry& geometry);

// The stream for an image that lies at byte address `base`, a multiple of the page.
std::vector<uint8_t> placed_stream(Span stream, uint64_t base, const vta_geometry& geometry);

class LoadedRegion {
 public:
  // Allocates the image, and writes micro-ops and constants. Throws FileError if the file's program is bad.
  LoadedRegion(const PlanRegion& region, const Archive& archive, const vta_geometry& geometry, Device& device);

  void write(const PlanBinding& binding, const PlanValue& value, const uint8_t* data);
  void read(const PlanBinding& binding, const PlanValue& value, uint8_t* data);
  void run(double limit_seconds) { device_.run(stream_, limit_seconds); }

 private:
  const vta_geometry geometry_;
  Device& device_;
  uint64_t address_;
  size_t stream_;
  std::vector<uint8_t> packed_;
};

}  // namespace vta

#endif
