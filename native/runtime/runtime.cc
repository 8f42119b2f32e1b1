#include "runtime/runtime.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

#include "runtime/code/processor.h"
#include "runtime/device/open_device.h"
#include "runtime/file/file_error.h"

namespace vta {

namespace {

constexpr size_t kAlignment = 64;
constexpr int kMostThreads = 256;

using Clock = std::chrono::steady_clock;

int64_t number(const uint8_t* place) {
  int64_t value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

AlignedMemory::AlignedMemory(size_t nbytes) : memory_(new (std::nothrow) uint8_t[nbytes + kAlignment]()) {
  if (memory_ == nullptr) throw FileError("out of memory: " + std::to_string(nbytes) + " bytes needed");
  const auto address = reinterpret_cast<uintptr_t>(memory_.get());
  start_ = memory_.get() + (kAlignment - address % kAlignment) % kAlignment;
}

LoadedKernels::LoadedKernels(const PlanKernels& plan, const std::vector<uint8_t*>& values, const Plan& whole, const Library* library,
                             uint8_t* constants, uint8_t* arena) {
  for (const PlanPlace& place : plan.table) {
    uint8_t* const base = place.kind == PlaceKind::kConstant ? constants : arena;
    const bool is_value = place.kind == PlaceKind::kInput || place.kind == PlaceKind::kOutput;
    table_.push_back(is_value ? nullptr : base + place.at);
  }
  for (const PlanTensor& tensor : plan.inputs) table_[tensor.place] = values[tensor.value];
  for (const PlanTensor& tensor : plan.outputs) {
    uint8_t* const to = values[tensor.value];
    if (plan.table[tensor.place].kind == PlaceKind::kOutput && table_[tensor.place] == nullptr) {
      table_[tensor.place] = to;
    } else {
      copies_.push_back({static_cast<uint8_t*>(table_[tensor.place]), to, whole.values[tensor.value].nbytes});
    }
  }
  if (std::find(table_.begin(), table_.end(), nullptr) != table_.end()) throw FileError("host plan: a place of kernels has no value");
  for (const PlanCall& call : plan.calls) {
    const auto function = reinterpret_cast<vta_host_kernel>(library->function(call.symbol));
    calls_.push_back({function, call.extent, call.buffers.data(), static_cast<int64_t>(call.buffers.size())});
  }
  for (const PlanCheck& check : plan.checks) checks_.push_back({arena + check.low, arena + check.high, &check});
}

void LoadedKernels::run(vta_host_threads* threads) const {
  vta_host_run(calls_.data(), static_cast<int64_t>(calls_.size()), table_.data(), threads, nullptr);
  for (const Check& check : checks_) {
    const int64_t low = number(check.low), high = number(check.high);
    const PlanCheck& planned = *check.planned;
    if (low >= planned.least && high <= planned.most) continue;
    throw FileError(planned.message + std::to_string(low < planned.least ? low : high));
  }
  for (const Copy& copy : copies_) std::memmove(copy.to, copy.from, copy.nbytes);
}

Runtime::Runtime(const std::string& path, const vta_runtime_options& options)
    : archive_(path), plan_(read_plan(archive_)), states_(read_states(archive_, plan_)), limit_seconds_(options.limit_seconds) {
  check_processor(plan_.processor);
  if (options.threads < 1 || options.threads > kMostThreads) throw FileError("threads: allowed are 1 to " + std::to_string(kMostThreads));
  if (options.threads > 1) {
    threads_.reset(vta_host_threads_create(options.threads));
    if (threads_ == nullptr) throw FileError(std::to_string(options.threads) + " threads cannot be started");
  }
  place_values();
  load_kernels();
  load_regions(options);
}

void Runtime::place_values() {
  const Span constants = archive_.member("host/constants");
  constants_ = std::make_unique<AlignedMemory>(constants.size);
  if (constants.size > 0) std::memcpy(constants_->data(), constants.data, constants.size);
  arena_ = std::make_unique<AlignedMemory>(plan_.arena_bytes);
  for (const PlanValue& value : plan_.values) {
    values_.push_back((value.is_constant ? constants_ : arena_)->data() + value.offset);
  }
}

void Runtime::load_kernels() {
  if (plan_.kernels.empty()) return;
  size_t arena_bytes = 0;
  bool has_calls = false;
  for (const PlanKernels& kernels : plan_.kernels) {
    arena_bytes = std::max(arena_bytes, kernels.arena_bytes);
    has_calls = has_calls || !kernels.calls.empty();
  }
  kernels_arena_ = std::make_unique<AlignedMemory>(arena_bytes);
  if (has_calls) library_ = std::make_unique<Library>(archive_.member("host/library.so"));
  for (const PlanKernels& kernels : plan_.kernels) {
    kernels_.emplace_back(kernels, values_, plan_, library_.get(), constants_->data(), kernels_arena_->data());
  }
}

void Runtime::load_regions(const vta_runtime_options& options) {
  device_ = open_device(options, plan_);
  uint64_t needed = 0;
  for (const PlanRegion& region : plan_.regions) needed += whole_pages(region.image_bytes);
  device_->reserve(needed);
  for (const PlanRegion& region : plan_.regions) regions_.emplace_back(region, archive_, plan_.geometry, *device_);
}

vta_runtime_value Runtime::value_of(const NamedValue& named) {
  const PlanValue& value = plan_.values[named.value];
  return {named.name.c_str(),  value.dtype.c_str(), static_cast<int32_t>(value.shape.size()),
          value.shape.data(), values_[named.value], value.nbytes};
}

vta_runtime_times Runtime::run() {
  vta_runtime_times times{};
  const auto start = Clock::now();
  for (const PlanStep& step : plan_.steps) {
    if (step.is_region) {
      const auto begun = Clock::now();
      run_region(step.index);
      times.device_seconds += seconds_since(begun);
      ++times.device_runs;
    } else {
      kernels_[step.index].run(threads_.get());
    }
  }
  times.host_seconds = seconds_since(start) - times.device_seconds;
  return times;
}

void Runtime::run_region(size_t index) {
  const PlanRegion& region = plan_.regions[index];
  for (const PlanBinding& input : region.inputs) regions_[index].write(input, plan_.values[input.value], values_[input.value]);
  regions_[index].run(limit_seconds_);
  for (const PlanBinding& output : region.outputs) regions_[index].read(output, plan_.values[output.value], values_[output.value]);
}

}  // namespace vta
