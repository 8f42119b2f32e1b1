// Runs compiled kernels one after the other.
#include <array>
#include <chrono>

#include "host/threads.h"

namespace {

using Clock = std::chrono::steady_clock;

void run_call(const vta_host_call& call, void* const* table, vta_host_threads* threads) {
  std::array<void*, VTA_HOST_MOST_BUFFERS> buffers;
  for (int64_t at = 0; at < call.count; ++at) buffers[static_cast<size_t>(at)] = table[call.buffers[at]];
  if (threads != nullptr && call.extent > 1) {
    threads->pool.share(call.kernel, buffers.data(), call.extent);
  } else {
    call.kernel(buffers.data(), 0, call.extent);
  }
}

}  // namespace

void vta_host_run(const vta_host_call* calls, int64_t count, void* const* table, vta_host_threads* threads,
                  int64_t* nanoseconds) {
  auto before = nanoseconds == nullptr ? Clock::time_point() : Clock::now();
  for (int64_t at = 0; at < count; ++at) {
    run_call(calls[at], table, threads);
    if (nanoseconds == nullptr) continue;
    const auto after = Clock::now();
    nanoseconds[at] = std::chrono::duration_cast<std::chrono::nanoseconds>(after - before).count();
    before = after;
  }
}
