// Threads that share the ranges of one loop after the other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "vta_host.h"

namespace vta {

class HostThreads {
 public:
  explicit HostThreads(int count);
  ~HostThreads();
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;

  // Runs all of a kernel's outermost loop; returns when every range is done.
  void share(vta_host_kernel kernel, void** buffers, int64_t extent);

 private:
  void work(int index);
  void run_range(int index) const;
  bool wait_for_work(uint64_t seen);
  void stop();

  vta_host_kernel kernel_ = nullptr;
  void** buffers_ = nullptr;
  int64_t extent_ = 0;
  std::atomic<uint64_t> round_{0};
  std::atomic<int> busy_{0};
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

}  // namespace vta

struct vta_host_threads {
  explicit vta_host_threads(int count) : pool(count) {}
  vta::HostThreads pool;
};
