// A failure of the program that runs, fit to show to a user.
#ifndef VTA_ENGINE_ERROR_H
#define VTA_ENGINE_ERROR_H

#include <cstdint>
#include <stdexcept>
#include <string>

#include "isa/instruction.h"

namespace vta {

class EngineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The program was not done within its limit of wall-clock time.
class TimeLimitError : public EngineError {
 public:
  using EngineError::EngineError;
};

// Throws EngineError for instruction `index` of `unit`.
[[noreturn]] inline void fail(uint64_t index, Unit unit, const std::string& what) {
  throw EngineError("instruction " + std::to_string(index) + " (" + unit_name(unit) + " unit): " + what);
}

}  // namespace vta

#endif
