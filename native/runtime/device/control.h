// How a run is started and watched through each register map that boards have.
#ifndef VTA_RUNTIME_CONTROL_H
#define VTA_RUNTIME_CONTROL_H

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/device/mapped.h"
#include "vta_common.h"

namespace vta {

using RegisterBlocks = std::map<std::string, Mapped>;

// A stream in memory: its address as the accelerator sees it, and its instructions.
struct Launch {
  uint32_t address;
  uint32_t count;
};

class Control {
 public:
  Control() = default;
  virtual ~Control() = default;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // Throws FileError if the fabric holds something else than what is expected, as far as it can tell, or a run is going on.
  virtual void check(const vta_geometry& geometry, int bus_bits) = 0;

  // `nothing` is a stream without effect. Throws std::runtime_error if the accelerator does not answer.
  virtual void start(const Launch& code, const Launch& nothing) = 0;
  virtual bool done() = 0;

  // Throws std::runtime_error if the accelerator reports errors.
  virtual void check_errors() = 0;

  // What is known of a run that does not end.
  virtual std::string halted() = 0;
};

// Of a design's register map: core, vcr or hls.
std::unique_ptr<Control> make_control(const std::string& registers, RegisterBlocks blocks);

}  // namespace vta

#endif
