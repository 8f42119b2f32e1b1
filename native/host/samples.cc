// Runs compiled kernels for many samples, a few of them at a time.
#include <algorithm>

#include "vta_host.h"

void vta_host_run_samples(const vta_host_call* calls, int64_t count, void** tables, int64_t places, int64_t together,
                          const vta_host_stride* strides, int64_t moving, int64_t samples) {
  for (int64_t first = 0; first < samples; first += together) {
    const int64_t present = std::min(together, samples - first);
    for (int64_t call = 0; call < count; ++call) {
      for (int64_t at = 0; at < present; ++at) vta_host_run(calls + call, 1, tables + at * places, nullptr, nullptr);
    }
    for (int64_t at = 0; at < present; ++at) {
      for (int64_t item = 0; item < moving; ++item) {
        void*& buffer = tables[at * places + strides[item].place];
        buffer = static_cast<char*>(buffer) + strides[item].bytes * together;
      }
    }
  }
}
