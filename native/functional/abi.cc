// The C interface of the functional engine. No exception leaves it.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "functional/handle.h"

namespace {

template <typename Body>
int32_t guarded(vta_functional* handle, const Body& body) {
  try {
    return body();
  } catch (const std::exception& failure) {
    try {
      handle->error = failure.what();
    } catch (const std::exception&) {
      handle->error.clear();
    }
    return VTA_FAILED;
  }
}

}  // namespace

vta_functional* vta_functional_create(const vta_geometry* geometry, int32_t kernel, char* error, size_t error_bytes) {
  try {
    const vta::Geometry checked(*geometry);
    auto handle = std::make_unique<vta_functional>(
        vta_functional{vta::FunctionalEngine(checked, vta::select_kernels(checked, kernel)), std::string()});
    return handle.release();
  } catch (const std::exception& failure) {
    std::snprintf(error, error_bytes, "%s", failure.what());
    return nullptr;
  }
}

void vta_functional_destroy(vta_functional* engine) { delete engine; }

void vta_functional_reset(vta_functional* engine) { engine->engine.reset(); }

int32_t vta_functional_begin(vta_functional* engine, const vta_functional_job* job) {
  return guarded(engine, [&]() -> int32_t {
    engine->engine.begin(*job);
    return VTA_MORE;
  });
}

int32_t vta_functional_begin_again(vta_functional* engine) {
  return guarded(engine, [&]() -> int32_t {
    engine->engine.begin_again();
    return VTA_MORE;
  });
}

int32_t vta_functional_step(vta_functional* engine, uint64_t budget) {
  return guarded(engine, [&]() -> int32_t { return engine->engine.step(budget) ? VTA_DONE : VTA_MORE; });
}

const char* vta_functional_error(const vta_functional* engine) { return engine->error.c_str(); }

const char* vta_functional_kernel(const vta_functional* engine) { return engine->engine.kernel(); }

void vta_functional_get_counters(const vta_functional* engine, int32_t operator_index, vta_functional_counters* counters) {
  *counters = engine->engine.counters(operator_index);
}

void vta_functional_get_tokens(const vta_functional* engine, uint64_t tokens[4]) {
  for (int i = 0; i < vta::kQueueCount; ++i) tokens[i] = engine->engine.tokens().counts[static_cast<size_t>(i)];
}

void vta_functional_set_tokens(vta_functional* engine, const uint64_t tokens[4]) {
  for (int i = 0; i < vta::kQueueCount; ++i) engine->engine.tokens().counts[static_cast<size_t>(i)] = tokens[i];
}
