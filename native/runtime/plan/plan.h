// How a network is run: values, and steps that read and write them. vta/runtime/artifact/host_plan.py describes it.
#ifndef VTA_RUNTIME_PLAN_H
#define VTA_RUNTIME_PLAN_H

#include <string>
#include <vector>

#include "runtime/file/archive.h"
#include "vta_common.h"

namespace vta {

struct PlanProcessor {
  std::string machine;
  std::string triple;
  std::string cpu;
  std::vector<std::string> required;
};

struct PlanValue {
  std::string dtype;
  std::vector<int64_t> shape;
  bool is_constant;
  size_t offset;
  size_t nbytes;
};

struct NamedValue {
  std::string name;
  size_t value;
};

enum class PlaceKind { kInput, kOutput, kConstant, kArena };

struct PlanPlace {
  PlaceKind kind;
  size_t at;
};

struct PlanTensor {
  size_t value;
  size_t place;
};

struct PlanCall {
  std::string symbol;
  std::vector<int32_t> buffers;
  int64_t extent;
};

// Two int64 of the arena, the smallest and the largest value that an operand had, and what they may be.
struct PlanCheck {
  size_t low;  // bytes from the start of the arena
  size_t high;
  int64_t least;
  int64_t most;
  std::string message;  // of a value that is outside, which follows it
};

struct PlanKernels {
  std::vector<PlanPlace> table;
  std::vector<PlanTensor> inputs;
  std::vector<PlanTensor> outputs;
  size_t arena_bytes;
  std::vector<PlanCall> calls;
  std::vector<PlanCheck> checks;
};

struct PlanBinding {
  size_t value;
  size_t offset;
  int planes;
  size_t nbytes;  // packed
  bool lies_packed;  // in the arena, too
};

struct PlanRegion {
  std::string name;
  size_t index;
  size_t image_bytes;
  std::vector<PlanBinding> inputs;
  std::vector<PlanBinding> outputs;
};

struct PlanStep {
  bool is_region;
  size_t index;
};

struct Plan {
  PlanProcessor processor;
  vta_geometry geometry;
  std::vector<std::string> targets;  // each whose hardware runs the regions
  size_t arena_bytes;
  std::vector<PlanValue> values;
  std::vector<NamedValue> inputs;
  std::vector<NamedValue> outputs;
  std::vector<PlanKernels> kernels;
  std::vector<PlanRegion> regions;
  std::vector<PlanStep> steps;
};

// The plan of a file. Every index and size in it is in range. Throws FileError naming the place of what is wrong, or the operators
// that have no kernel.
Plan read_plan(const Archive& archive);

}  // namespace vta

#endif
