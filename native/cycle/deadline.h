// A limit of wall-clock time.
#ifndef VTA_CYCLE_DEADLINE_H
#define VTA_CYCLE_DEADLINE_H

#include <chrono>
#include <cstdint>
#include <sstream>

#include "isa/engine_error.h"

namespace vta {

class Deadline {
 public:
  // 0 seconds: none.
  explicit Deadline(double seconds) : seconds_(seconds), start_(Clock::now()) {}

  // To be called once for each event; looks at the clock now and then. Throws TimeLimitError once the time is up.
  void check(uint64_t event) const {
    if (seconds_ <= 0 || event % kInterval != 0) return;
    if (std::chrono::duration<double>(Clock::now() - start_).count() <= seconds_) return;
    std::ostringstream text;
    text << "time limit: not done after " << seconds_ << " s";
    throw TimeLimitError(text.str());
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint64_t kInterval = 1 << 16;

  const double seconds_;
  const Clock::time_point start_;
};

}  // namespace vta

#endif
