// Runs compiled kernels for one sample after the other.
#include "vta_host.h"

void vta_host_run_samples(const vta_host_call* calls, int64_t count, void** table, const vta_host_stride* strides, int64_t moving,
                          int64_t samples) {
  for (int64_t sample = 0; sample < samples; ++sample) {
    vta_host_run(calls, count, table, nullptr, nullptr);
    for (int64_t at = 0; at < moving; ++at) {
      void*& buffer = table[strides[at].place];
      buffer = static_cast<char*>(buffer) + strides[at].bytes;
    }
  }
}
