// A network that is ready to run.
#ifndef VTA_RUNTIME_RUNTIME_H
#define VTA_RUNTIME_RUNTIME_H

#include <memory>
#include <vector>

#include "runtime/code/library.h"
#include "runtime/device/region.h"
#include "runtime/file/archive.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/states.h"
#include "vta_host.h"
#include "vta_runtime.h"

namespace vta {

// Memory at an address that vectors like.
class AlignedMemory {
 public:
  // Throws FileError if there is not so much.
  explicit AlignedMemory(size_t nbytes);
  uint8_t* data() const { return start_; }

 private:
  std::unique_ptr<uint8_t[]> memory_;
  uint8_t* start_;
};

// Kernels that follow each other, ready to run.
class LoadedKernels {
 public:
  // `library` is there if the plan has calls. `values` are in the order of the plan's.
  LoadedKernels(const PlanKernels& plan, const std::vector<uint8_t*>& values, const Plan& whole, const Library* library,
                uint8_t* constants, uint8_t* arena);
  // Throws FileError where an operand had a value that is not allowed.
  void run(vta_host_threads* threads) const;

 private:
  struct Check {
    const uint8_t* low;
    const uint8_t* high;
    const PlanCheck* planned;
  };
  struct Copy {
    const uint8_t* from;
    uint8_t* to;
    size_t nbytes;
  };

  std::vector<void*> table_;
  std::vector<vta_host_call> calls_;
  std::vector<Copy> copies_;  // outputs that lie in the place of an input
  std::vector<Check> checks_;
};

class Runtime {
 public:
  Runtime(const std::string& path, const vta_runtime_options& options);

  size_t inputs() const { return plan_.inputs.size(); }
  size_t outputs() const { return plan_.outputs.size(); }
  vta_runtime_value input(size_t index) { return value_of(plan_.inputs[index]); }
  vta_runtime_value output(size_t index) { return value_of(plan_.outputs[index]); }
  const std::vector<PlanState>& states() const { return states_; }
  vta_runtime_times run();

 private:
  struct DestroyThreads {
    void operator()(vta_host_threads* threads) const { vta_host_threads_destroy(threads); }
  };

  vta_runtime_value value_of(const NamedValue& named);
  void place_values();
  void load_kernels();
  void load_regions(const vta_runtime_options& options);
  void run_region(size_t index);

  Archive archive_;
  Plan plan_;
  std::vector<PlanState> states_;
  double limit_seconds_;
  std::unique_ptr<vta_host_threads, DestroyThreads> threads_;
  std::unique_ptr<AlignedMemory> constants_;
  std::unique_ptr<AlignedMemory> arena_;          // of values
  std::unique_ptr<AlignedMemory> kernels_arena_;  // of kernels, between them
  std::vector<uint8_t*> values_;
  std::unique_ptr<Library> library_;
  std::unique_ptr<Device> device_;
  std::vector<LoadedKernels> kernels_;
  std::vector<LoadedRegion> regions_;
};

}  // namespace vta

#endif
