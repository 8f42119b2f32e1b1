// The C interface of the runtime. No exception leaves it.
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "runtime/file/file_error.h"
#include "runtime/runtime.h"

struct vta_runtime {
  vta::Runtime runtime;
  std::string error;
};

struct vta_library {
  vta::Library library;
};

vta_library* vta_library_open(const uint8_t* code, uint64_t nbytes, char* error, size_t error_bytes) {
  try {
    return new vta_library{vta::Library({code, static_cast<size_t>(nbytes)})};
  } catch (const std::exception& failure) {
    std::snprintf(error, error_bytes, "%s", vta::printable(failure.what()).c_str());
    return nullptr;
  }
}

void vta_library_close(vta_library* library) { delete library; }

void* vta_library_function(const vta_library* library, const char* symbol) {
  try {
    return library->library.function(symbol);
  } catch (const std::exception&) {
    return nullptr;
  }
}

vta_runtime* vta_runtime_open(const char* path, const vta_runtime_options* options, char* error, size_t error_bytes) {
  try {
    return new vta_runtime{vta::Runtime(path, *options), std::string()};
  } catch (const std::bad_alloc&) {
    std::snprintf(error, error_bytes, "%s: out of memory", path);
  } catch (const std::exception& failure) {
    const std::string text = vta::printable(failure.what());
    const bool names_it = text.rfind(path, 0) == 0;
    std::snprintf(error, error_bytes, "%s%s%s", names_it ? "" : path, names_it ? "" : ": ", text.c_str());
  }
  return nullptr;
}

void vta_runtime_close(vta_runtime* runtime) { delete runtime; }

int32_t vta_runtime_inputs(const vta_runtime* runtime) { return static_cast<int32_t>(runtime->runtime.inputs()); }

int32_t vta_runtime_outputs(const vta_runtime* runtime) { return static_cast<int32_t>(runtime->runtime.outputs()); }

void vta_runtime_input(vta_runtime* runtime, int32_t index, vta_runtime_value* value) {
  *value = runtime->runtime.input(static_cast<size_t>(index));
}

void vta_runtime_output(vta_runtime* runtime, int32_t index, vta_runtime_value* value) {
  *value = runtime->runtime.output(static_cast<size_t>(index));
}

int32_t vta_runtime_states(const vta_runtime* runtime) { return static_cast<int32_t>(runtime->runtime.states().size()); }

void vta_runtime_state_at(const vta_runtime* runtime, int32_t index, vta_runtime_state* state) {
  const vta::PlanState& found = runtime->runtime.states()[static_cast<size_t>(index)];
  *state = {static_cast<int32_t>(found.input), static_cast<int32_t>(found.output), found.initial.data};
}

int32_t vta_runtime_run(vta_runtime* runtime, vta_runtime_times* times) {
  try {
    *times = runtime->runtime.run();
    return VTA_DONE;
  } catch (const std::exception& failure) {
    try {
      runtime->error = failure.what();
    } catch (const std::exception&) {
      runtime->error.clear();
    }
    return VTA_FAILED;
  }
}

const char* vta_runtime_error(const vta_runtime* runtime) { return runtime->error.c_str(); }
