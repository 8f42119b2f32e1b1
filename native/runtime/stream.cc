#include "runtime/stream.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "runtime/file/file_error.h"

namespace vta {

namespace {

std::vector<int64_t> shape_of(const vta_runtime_value& value) { return {value.shape, value.shape + value.rank}; }

bool contains(const std::vector<int32_t>& items, int32_t item) { return std::find(items.begin(), items.end(), item) != items.end(); }

// Whether an array holds frames of a value: (time, ...), or (time, ...) without the axis of one sample.
bool holds_frames(const Array& array, const vta_runtime_value& value) {
  const std::vector<int64_t> one = shape_of(value);
  if (array.dtype != value.dtype || array.shape.empty()) return false;
  const std::vector<int64_t> frame(array.shape.begin() + 1, array.shape.end());
  if (frame == one) return true;
  return !one.empty() && one.front() == 1 && frame == std::vector<int64_t>(one.begin() + 1, one.end());
}

void fill(const vta_runtime_value& value, const uint8_t* data) {
  if (value.nbytes > 0) std::memcpy(value.data, data, value.nbytes);
}

std::vector<uint8_t> bytes_of(const vta_runtime_value& value) {
  const auto* data = static_cast<const uint8_t*>(value.data);
  return {data, data + value.nbytes};
}

}  // namespace

Stream::Stream(vta_runtime* runtime, std::vector<GivenInput> given, bool frames) : runtime_(runtime), has_frames_(frames) {
  for (int32_t index = 0; index < vta_runtime_states(runtime); ++index) {
    vta_runtime_state state;
    vta_runtime_state_at(runtime, index, &state);
    State made;
    vta_runtime_input(runtime, state.input, &made.input);
    vta_runtime_output(runtime, state.output, &made.output);
    const auto* first = static_cast<const uint8_t*>(state.initial);
    made.first.assign(first, first + made.input.nbytes);
    states_.push_back(std::move(made));
    state_inputs_.push_back(state.input);
    state_outputs_.push_back(state.output);
  }
  for (GivenInput& item : given) add(item);
  if (!frames || count_ == 0) count_ = 1;
  for (int32_t index = 0; index < vta_runtime_outputs(runtime); ++index) {
    vta_runtime_value value;
    vta_runtime_output(runtime, index, &value);
    if (is_result(index)) results_.push_back({value, {}});
  }
}

void Stream::add(GivenInput& given) {
  vta_runtime_value value;
  vta_runtime_input(runtime_, given.input, &value);
  const auto state = std::find(state_inputs_.begin(), state_inputs_.end(), given.input);
  const bool is_stream = has_frames_ && state == state_inputs_.end();
  const bool fits = is_stream ? holds_frames(given.array, value) : given.array.dtype == value.dtype && given.array.shape == shape_of(value);
  if (!fits) {
    throw FileError(given.path + ": " + type_text(given.array.dtype, given.array.shape) + "; " + (is_stream ? "a frame of " : "") + "input " +
                    shown(value.name) + " is " + type_text(value.dtype, shape_of(value)));
  }
  if (is_stream) {
    const int64_t count = given.array.shape.front();
    if (count == 0) throw FileError(given.path + ": holds no frames");
    if (count_ != 0 && count != count_) {
      throw FileError(given.path + ": holds " + std::to_string(count) + " frames; other inputs have " + std::to_string(count_));
    }
    count_ = count;
  }
  if (state != state_inputs_.end()) {
    states_[static_cast<size_t>(state - state_inputs_.begin())].first = std::move(given.array.data);
  } else {
    fillings_.push_back({value, std::move(given.array), is_stream});
  }
}

vta_runtime_times Stream::run() {
  vta_runtime_times total{};
  for (State& state : states_) state.now = state.first;
  for (auto& [value, data] : results_) data.clear();
  for (int64_t frame = 0; frame < count_; ++frame) {
    take_frame(frame);
    vta_runtime_times times;
    if (vta_runtime_run(runtime_, &times) != VTA_DONE) throw std::runtime_error(vta_runtime_error(runtime_));
    keep();
    total.host_seconds += times.host_seconds;
    total.device_seconds += times.device_seconds;
    total.device_runs += times.device_runs;
  }
  return total;
}

// Inputs are filled before each run, for steps may overwrite them.
void Stream::take_frame(int64_t frame) {
  for (const Filling& item : fillings_) {
    fill(item.value, item.array.data.data() + (item.is_stream ? static_cast<size_t>(frame) * item.value.nbytes : 0));
  }
  for (const State& state : states_) fill(state.input, state.now.data());
}

void Stream::keep() {
  for (State& state : states_) state.now = bytes_of(state.output);
  for (auto& [value, data] : results_) {
    const std::vector<uint8_t> made = bytes_of(value);
    data.insert(data.end(), made.begin(), made.end());
  }
}

// Without frames the next values of states are outputs like others.
bool Stream::is_result(int32_t output) const { return !has_frames_ || !contains(state_outputs_, output); }

NamedArrays Stream::outputs() const {
  NamedArrays made;
  for (const auto& [value, data] : results_) {
    std::vector<int64_t> shape = shape_of(value);
    if (has_frames_) shape.insert(shape.begin(), count_);
    made.emplace_back(value.name, Array{value.dtype, shape, data});
  }
  return made;
}

NamedArrays Stream::states() const {
  NamedArrays made;
  for (const State& state : states_) made.emplace_back(state.input.name, Array{state.input.dtype, shape_of(state.input), state.now});
  return made;
}

}  // namespace vta
