#include "runtime/device/open_device.h"

#include <algorithm>
#include <cmath>

#include "runtime/device/board_device.h"
#include "runtime/device/sim_device.h"
#include "runtime/file/file_error.h"

namespace vta {

namespace {

std::string text_or(const char* given, const char* otherwise) { return given == nullptr || *given == '\0' ? otherwise : given; }

}  // namespace

std::unique_ptr<Device> open_device(const vta_runtime_options& options, const Plan& plan) {
  const std::string name = text_or(options.device, "sim");
  if (!(options.limit_seconds > 0) || std::isinf(options.limit_seconds)) throw FileError("the limit of a run is a number of seconds above 0");
  if (name == "sim") return std::make_unique<SimDevice>(plan.geometry, options.memory_bytes);
  const Board board = read_board(name, text_or(options.design, ""));
  if (std::find(plan.targets.begin(), plan.targets.end(), board.target) == plan.targets.end()) {
    std::string names;
    for (const std::string& target : plan.targets) names += (names.empty() ? "" : ", ") + target;
    throw FileError("compiled for TARGET = " + names + "; design " + board.design + " of board " + board.name + " has TARGET = " + board.target);
  }
  const std::string buffer = text_or(options.buffer, board.driver == "de10nano" ? "/dev/mem" : "/dev/udmabuf0");
  return std::make_unique<BoardDevice>(board, text_or(options.registers, "/dev/mem"), buffer, plan.geometry, options.memory_bytes);
}

}  // namespace vta
