#include "host/threads.h"

#include <exception>
#include <memory>

namespace vta {

namespace {

// Kernels follow each other within microseconds, which is less than it takes to wake a thread.
constexpr int kSpins = 4000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

HostThreads::HostThreads(int count) {
  try {
    for (int index = 1; index < count; ++index) workers_.emplace_back([this, index] { work(index); });
  } catch (...) {
    stop();
    throw;
  }
}

HostThreads::~HostThreads() { stop(); }

void HostThreads::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void HostThreads::share(vta_host_kernel kernel, void** buffers, int64_t extent) {
  kernel_ = kernel;
  buffers_ = buffers;
  extent_ = extent;
  busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    round_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  run_range(0);
  for (int spins = 0; busy_.load(std::memory_order_acquire) > 0; ++spins) {
    if (spins < kSpins) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void HostThreads::run_range(int index) const {
  const int64_t count = static_cast<int64_t>(workers_.size()) + 1;
  const int64_t begin = extent_ * index / count, end = extent_ * (index + 1) / count;
  if (begin < end) kernel_(buffers_, begin, end);
}

bool HostThreads::wait_for_work(uint64_t seen) {
  for (int spins = 0; spins < kSpins; ++spins) {
    if (round_.load(std::memory_order_acquire) != seen) return true;
    pause();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  wake_.wait(lock, [&] { return ended_ || round_.load(std::memory_order_acquire) != seen; });
  return !ended_;
}

void HostThreads::work(int index) {
  for (uint64_t seen = 0; wait_for_work(seen); ++seen) {
    run_range(index);
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace vta

vta_host_threads* vta_host_threads_create(int32_t threads) {
  try {
    return std::make_unique<vta_host_threads>(threads).release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

void vta_host_threads_destroy(vta_host_threads* threads) { delete threads; }
