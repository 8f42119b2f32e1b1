// From what a user asks for to a device.
#ifndef VTA_RUNTIME_OPEN_DEVICE_H
#define VTA_RUNTIME_OPEN_DEVICE_H

#include <memory>

#include "runtime/device/device.h"
#include "runtime/plan/plan.h"
#include "vta_runtime.h"

namespace vta {

// Throws FileError if the device cannot be opened, or does not run what was compiled.
std::unique_ptr<Device> open_device(const vta_runtime_options& options, const Plan& plan);

}  // namespace vta

#endif
