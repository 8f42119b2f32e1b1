// Runs of a network one after another, which may be frames of a stream.
#ifndef VTA_RUNTIME_STREAM_H
#define VTA_RUNTIME_STREAM_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/file/npy.h"
#include "vta_runtime.h"

namespace vta {

// An array that a user gave for an input, and its file.
struct GivenInput {
  std::string path;
  int32_t input;
  Array array;
};

using NamedArrays = std::vector<std::pair<std::string, Array>>;

// What a network is given, what it keeps between frames, and what it gives.
class Stream {
 public:
  // With `frames`, inputs that are no states hold frames along a first axis of time, which they need not have beside that of one
  // sample. States that are not given start with their first values. Throws FileError naming the file that does not fit, and
  // whatever else was not given.
  Stream(vta_runtime* runtime, std::vector<GivenInput> given, bool frames);

  int64_t frames() const { return count_; }

  // All frames, from the first states on; the sum of their times. Throws std::runtime_error if a run fails.
  vta_runtime_times run();

  // The outputs: without frames all, with them the results alone, with an axis of time in front.
  NamedArrays outputs() const;
  NamedArrays states() const;

 private:
  struct Filling {
    vta_runtime_value value;
    Array array;
    bool is_stream;
  };
  struct State {
    vta_runtime_value input;
    vta_runtime_value output;
    std::vector<uint8_t> first;
    std::vector<uint8_t> now;
  };

  void add(GivenInput& given);
  void take_frame(int64_t frame);
  void keep();
  bool is_result(int32_t output) const;

  vta_runtime* runtime_;
  bool has_frames_;
  int64_t count_ = 0;  // until the first stream says how many
  std::vector<Filling> fillings_;
  std::vector<State> states_;
  std::vector<int32_t> state_inputs_, state_outputs_;
  std::vector<std::pair<vta_runtime_value, std::vector<uint8_t>>> results_;
};

}  // namespace vta

#endif
