#include "runtime/plan/plan.h"

#include <stdexcept>

#include "isa/geometry.h"
#include "runtime/file/file_error.h"
#include "runtime/file/json.h"
#include "runtime/file/npy.h"
#include "runtime/plan/packing.h"
#include "vta_host.h"

namespace vta {

namespace {

constexpr int64_t kFirstVersion = 1, kLastVersion = 3;
constexpr int64_t kMostBytes = int64_t{1} << 31;
constexpr int64_t kMostIndex = 1 << 24;

size_t index(const Json& value, size_t count) { return static_cast<size_t>(value.integer(0, static_cast<int64_t>(count) - 1)); }

size_t size(const Json& value) { return static_cast<size_t>(value.integer(0, kMostBytes)); }

std::vector<std::string> texts(const Json& value) {
  std::vector<std::string> made;
  for (const Json& item : value.list()) made.push_back(item.text());
  return made;
}

std::vector<int64_t> shape(const Json& value) {
  std::vector<int64_t> made;
  for (const Json& item : value.list()) made.push_back(item.integer(0, kMostBytes));
  return made;
}

PlanProcessor processor(const Json& value) {
  return {value["machine"].text(), value["triple"].text(), value["cpu"].text(), texts(value["requires"])};
}

vta_geometry geometry(const Json& value) {
  const auto log = [&](const char* name) { return static_cast<int32_t>(value[name].integer(0, 31)); };
  const auto unit = [&](const char* name) { return static_cast<int32_t>(value[name].integer(0, 1)); };
  return {log("log_inp_width"),     log("log_wgt_width"),     log("log_acc_width"),     log("log_batch"),        log("log_block"),
          log("log_uop_buff_size"), log("log_inp_buff_size"), log("log_wgt_buff_size"), log("log_acc_buff_size"),
          unit("requantize_unit"),  unit("table_unit"),       unit("depthwise_unit")};
}

// Bytes of an array; fails at `value` if there are too many.
size_t array_bytes(const Json& value, const std::string& dtype, const std::vector<int64_t>& shape) {
  uint64_t nbytes = item_bytes(dtype);
  if (nbytes == 0) value["dtype"].fail("= " + shown(dtype) + " is not known");
  for (const int64_t dim : shape) {
    if (dim != 0 && nbytes > static_cast<uint64_t>(kMostBytes) / static_cast<uint64_t>(dim)) value["shape"].fail("is too large");
    nbytes *= static_cast<uint64_t>(dim);
  }
  return static_cast<size_t>(nbytes);
}

size_t choice(const Json& value, const std::vector<const char*>& allowed) {
  for (size_t at = 0; at < allowed.size(); ++at) {
    if (value.text() == allowed[at]) return at;
  }
  std::string names;
  for (const char* name : allowed) names += (names.empty() ? "" : ", ") + std::string(name);
  value.fail("= " + shown(value.text()) + "; allowed: " + names);
}

PlanValue plan_value(const Json& value, size_t arena_bytes, size_t constant_bytes) {
  PlanValue made{value["dtype"].text(), shape(value["shape"]), choice(value["place"], {"arena", "constants"}) == 1, size(value["offset"]), 0};
  made.nbytes = array_bytes(value, made.dtype, made.shape);
  const size_t available = made.is_constant ? constant_bytes : arena_bytes;
  if (made.offset > available || made.nbytes > available - made.offset) value["offset"].fail("lies outside of its place");
  if (made.offset % item_bytes(made.dtype) != 0) value["offset"].fail("= " + std::to_string(made.offset) + " is not aligned");
  return made;
}

NamedValue named(const Json& value, const Plan& plan) { return {value["name"].text(), index(value["value"], plan.values.size())}; }

PlanTensor tensor(const Json& value, const Plan& plan, size_t places) {
  return {index(value["value"], plan.values.size()), index(value["place"], places)};
}

PlanPlace plan_place(const Json& value, size_t inputs, size_t outputs, size_t arena_bytes, size_t constant_bytes) {
  const auto kind = static_cast<PlaceKind>(choice(value["kind"], {"input", "output", "constant", "arena"}));
  const size_t limits[] = {inputs, outputs, constant_bytes, arena_bytes};
  const size_t at = size(value["at"]), nbytes = size(value["nbytes"]), limit = limits[static_cast<size_t>(kind)];
  const bool counts = kind == PlaceKind::kInput || kind == PlaceKind::kOutput;
  if (at > limit || (counts ? at == limit : nbytes > limit - at)) value["at"].fail("= " + std::to_string(at) + " is out of range");
  return {kind, at};
}

PlanCall call(const Json& value, size_t places) {
  PlanCall made{value["symbol"].text(), {}, value["extent"].integer(1, kMostBytes)};
  for (const Json& item : value["buffers"].list()) made.buffers.push_back(static_cast<int32_t>(index(item, places)));
  if (made.buffers.empty() || made.buffers.size() > VTA_HOST_MOST_BUFFERS) value["buffers"].fail("has too few or too many entries");
  return made;
}

// Where an int64 lies in the arena that a place is.
size_t number_at(const Json& value, const PlanKernels& kernels) {
  const PlanPlace& place = kernels.table[index(value, kernels.table.size())];
  if (place.kind != PlaceKind::kArena || place.at % sizeof(int64_t) != 0 || kernels.arena_bytes < sizeof(int64_t) ||
      place.at > kernels.arena_bytes - sizeof(int64_t)) {
    value.fail("is no place of a number");
  }
  return place.at;
}

PlanCheck check(const Json& value, const PlanKernels& kernels) {
  return {number_at(value["low"], kernels), number_at(value["high"], kernels), value["least"].integer(-kMostBytes, kMostBytes),
          value["most"].integer(-kMostBytes, kMostBytes), value["message"].text()};
}

PlanKernels kernels(const Json& value, const Plan& plan, size_t constant_bytes) {
  PlanKernels made{};
  made.arena_bytes = size(value["arena_bytes"]);
  const size_t inputs = value["inputs"].list().size(), outputs = value["outputs"].list().size();
  for (const Json& item : value["table"].list()) {
    made.table.push_back(plan_place(item, inputs, outputs, made.arena_bytes, constant_bytes));
  }
  for (const Json& item : value["inputs"].list()) made.inputs.push_back(tensor(item, plan, made.table.size()));
  for (const Json& item : value["outputs"].list()) made.outputs.push_back(tensor(item, plan, made.table.size()));
  for (const Json& item : value["calls"].list()) made.calls.push_back(call(item, made.table.size()));
  if (const Json* checks = value.find("checks"); checks != nullptr) {
    for (const Json& item : checks->list()) made.checks.push_back(check(item, made));
  }
  return made;
}

// Whether a value lies in the arena as on the device: (N, blocks, H, W, BLOCK) of bytes, where a batch has one row.
bool is_packed(const PlanValue& value, const vta_geometry& geometry) {
  return value.shape.size() == 5 && value.dtype == "int8" && geometry.log_batch == 0 &&
         value.shape[4] == int64_t{1} << geometry.log_block;
}

PlanBinding binding(const Json& value, const Plan& plan, size_t image_bytes) {
  PlanBinding made{index(value["value"], plan.values.size()), size(value["offset"]), static_cast<int>(value["planes"].integer(1, 4)), 0, false};
  const PlanValue& held = plan.values[made.value];
  if (held.dtype != (made.planes == 1 ? "int8" : made.planes == 4 ? "int32" : "")) {
    value["planes"].fail("= " + std::to_string(made.planes) + " does not suit " + shown(held.dtype));
  }
  made.lies_packed = is_packed(held, plan.geometry);
  if (!made.lies_packed && held.shape.size() != 2 && held.shape.size() != 4) {
    value["value"].fail("is " + type_text(held.dtype, held.shape) + ", which cannot be packed");
  }
  const uint64_t nbytes = made.lies_packed ? held.nbytes : packed_bytes(held.shape, plan.geometry, made.planes);
  made.nbytes = static_cast<size_t>(nbytes);
  if (made.offset > image_bytes || nbytes > image_bytes - made.offset) value["offset"].fail("lies outside of the image");
  return made;
}

PlanRegion region(const Json& value, const Plan& plan) {
  PlanRegion made{value["name"].text(), static_cast<size_t>(value["index"].integer(0, kMostIndex)), size(value["image_bytes"]), {}, {}};
  for (const Json& item : value["inputs"].list()) made.inputs.push_back(binding(item, plan, made.image_bytes));
  for (const Json& item : value["outputs"].list()) made.outputs.push_back(binding(item, plan, made.image_bytes));
  return made;
}

PlanStep step(const Json& value, const Plan& plan) {
  const bool is_region = choice(value["kind"], {"kernels", "region"}) == 1;
  return {is_region, index(value["index"], is_region ? plan.regions.size() : plan.kernels.size())};
}

void check_geometry(const vta_geometry& geometry, const Json& value) {
  try {
    const Geometry checked(geometry);
  } catch (const std::invalid_argument& problem) {
    value.fail(std::string("is bad: ") + problem.what());
  }
}

void refuse_operators(const Json& value) {
  std::string names;
  for (const Json& item : value["operators"].list()) {
    names += (names.empty() ? "" : ", ") + shown(item["name"].text()) + " (" + item["op"].text() + ")";
    if (names.size() > 500) break;
  }
  if (!names.empty()) throw FileError("no kernel for " + names + ": this network runs in Python only");
}

}  // namespace

Plan read_plan(const Archive& archive) {
  if (!archive.has("host/plan.json")) {
    throw FileError("it holds nothing compiled for a host: compile it with llvm among the targets");
  }
  const Span content = archive.member("host/plan.json");
  const Json value = Json::parse({reinterpret_cast<const char*>(content.data), content.size}, "host/plan.json");
  if (const int64_t version = value["version"].integer(); version < kFirstVersion || version > kLastVersion) {
    value["version"].fail("= " + std::to_string(version) + "; this program reads versions " + std::to_string(kFirstVersion) + " to " +
                          std::to_string(kLastVersion));
  }
  Plan plan{};
  plan.processor = processor(value["processor"]);
  refuse_operators(value);
  plan.geometry = geometry(value["hardware"]);
  check_geometry(plan.geometry, value["hardware"]);
  plan.targets = texts(value["hardware"]["targets"]);
  plan.arena_bytes = size(value["arena_bytes"]);
  const size_t constant_bytes = archive.member("host/constants").size;
  for (const Json& item : value["values"].list()) plan.values.push_back(plan_value(item, plan.arena_bytes, constant_bytes));
  for (const Json& item : value["inputs"].list()) plan.inputs.push_back(named(item, plan));
  for (const Json& item : value["outputs"].list()) plan.outputs.push_back(named(item, plan));
  for (const NamedValue& input : plan.inputs) {
    if (plan.values[input.value].is_constant) value["inputs"].fail("has a constant");
  }
  for (const Json& item : value["kernels"].list()) plan.kernels.push_back(kernels(item, plan, constant_bytes));
  for (const Json& item : value["regions"].list()) plan.regions.push_back(region(item, plan));
  for (const Json& item : value["steps"].list()) plan.steps.push_back(step(item, plan));
  return plan;
}

}  // namespace vta
