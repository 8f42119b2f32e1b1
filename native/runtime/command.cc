// The command vta-run.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/file/archive.h"
#include "runtime/file/file_error.h"
#include "runtime/file/npy.h"
#include "runtime/stream.h"
#include "vta_runtime.h"

namespace vta {

namespace {

constexpr const char* kUsage =
    "usage: vta-run OUT.vta --input [NAME=]FILE.npy [--output FILE.npz] [options]\n"
    "\n"
    "Runs a network that 'vta compile --target \"vta, llvm ...\"' compiled, without Python.\n"
    "The file holds code, which is run: take it only from where you would take programs from.\n"
    "\n"
    "  --input [NAME=]FILE.npy  an input (may be repeated; NAME may be left out where there is one)\n"
    "  --frames                 inputs hold frames along a first axis; what the network keeps goes from one to the next\n"
    "  --save-state FILE.npz    where that goes after the last run\n"
    "  --output FILE            where the outputs go: .npz, or .npy where there is one\n"
    "  --device DEVICE          sim, the functional simulator (default), or a board's description, a JSON file\n"
    "  --design NAME            what the fabric of the board holds (default: as its description says)\n"
    "  --registers FILE         /dev/mem (default), or a UIO device such as /dev/uio0\n"
    "  --buffer FILE            memory of the board: /dev/mem, or a u-dma-buf such as /dev/udmabuf0\n"
    "  --memory BYTES           most device memory, such as 64M (default: 256M)\n"
    "  --limit SECONDS          longest run of the device (default: 60)\n"
    "  --threads N              threads for kernels of the host (default: 1)\n"
    "  --repeat N               run N times, and report the fastest (default: 1)\n"
    "  --json                   print one JSON object on standard output\n"
    "  --help\n";

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Options {
  std::string artifact;
  std::vector<std::string> inputs;
  std::string output, state, device = "sim", design, registers, buffer;
  uint64_t memory_bytes = uint64_t{256} << 20;
  double limit_seconds = 60;
  int64_t threads = 1, repeat = 1;
  bool json = false, help = false, frames = false;
};

int64_t whole(const std::string& name, const std::string& text, int64_t high) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 1 || value > high) {
    throw UsageError(name + " " + shown(text) + "; allowed: 1 to " + std::to_string(high));
  }
  return value;
}

uint64_t size(const std::string& text) {
  const size_t digits = text.find_first_not_of("0123456789");
  const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  const std::map<std::string, int> shifts = {{"", 0}, {"K", 10}, {"M", 20}, {"G", 30}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  if (digits == 0 || text.empty() || shifts.count(unit) == 0) throw UsageError("--memory " + shown(text) + "; allowed are sizes such as 64M");
  return static_cast<uint64_t>(whole("--memory", text.substr(0, digits), int64_t{1} << 30)) << shifts.at(unit);
}

double seconds(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value > 0) || value > 1e9) throw UsageError("--limit " + shown(text) + "; allowed are seconds above 0");
  return value;
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  const std::map<std::string, std::string*> texts = {{"--output", &options.output},       {"--device", &options.device},
                                                     {"--design", &options.design},       {"--registers", &options.registers},
                                                     {"--buffer", &options.buffer},       {"--save-state", &options.state}};
  for (size_t at = 0; at < arguments.size(); ++at) {
    std::string name = arguments[at], value;
    const size_t equals = name.rfind("--", 0) == 0 ? name.find('=') : std::string::npos;
    const bool has_value = equals != std::string::npos;
    if (has_value) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    if (name == "--json" || name == "--frames" || name == "--help" || name == "-h") {
      (name == "--json" ? options.json : name == "--frames" ? options.frames : options.help) = true;
      continue;
    }
    if (name.rfind("-", 0) != 0) {
      if (!options.artifact.empty()) throw UsageError("one network at a time, not " + shown(name) + " too");
      options.artifact = name;
      continue;
    }
    const bool is_known = texts.count(name) != 0 || name == "--input" || name == "--memory" || name == "--limit" || name == "--threads" || name == "--repeat";
    if (!is_known) throw UsageError("unknown option " + shown(name));
    if (!has_value) {
      if (at + 1 == arguments.size()) throw UsageError(name + " needs a value");
      value = arguments[++at];
    }
    if (texts.count(name) != 0) *texts.at(name) = value;
    else if (name == "--input") options.inputs.push_back(value);
    else if (name == "--memory") options.memory_bytes = size(value);
    else if (name == "--limit") options.limit_seconds = seconds(value);
    else if (name == "--threads") options.threads = whole(name, value, 256);
    else options.repeat = whole(name, value, 1000000);
  }
  if (!options.help && options.artifact.empty()) throw UsageError("no network is given");
  return options;
}

std::string text_of(const vta_runtime_value& value) { return type_text(value.dtype, {value.shape, value.shape + value.rank}); }

// Closes a runtime at the end of a scope.
struct Opened {
  vta_runtime* runtime;
  ~Opened() { vta_runtime_close(runtime); }
};

std::string names_of_inputs(vta_runtime* runtime) {
  std::string names;
  for (int32_t index = 0; index < vta_runtime_inputs(runtime); ++index) {
    vta_runtime_value value;
    vta_runtime_input(runtime, index, &value);
    names += (index > 0 ? ", " : "") + std::string(value.name);
  }
  return names;
}

// A name, "" if there is none, and a path. Both may hold any character: the longest name of an input that fits is the one meant.
std::pair<std::string, std::string> split_input(vta_runtime* runtime, const std::string& text) {
  std::string name;
  bool is_named = false;
  for (int32_t index = 0; index < vta_runtime_inputs(runtime); ++index) {
    vta_runtime_value value;
    vta_runtime_input(runtime, index, &value);
    const std::string known = value.name;
    if (text.rfind(known + "=", 0) != 0 || (is_named && known.size() < name.size())) continue;
    name = known;
    is_named = true;
  }
  if (is_named) return {name, text.substr(name.size() + 1)};
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || access(text.c_str(), F_OK) == 0) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// The input of a name, which may be "" where there is one.
int32_t find_input(vta_runtime* runtime, const std::string& name, std::vector<bool>& given) {
  for (int32_t index = 0; index < vta_runtime_inputs(runtime); ++index) {
    vta_runtime_value value;
    vta_runtime_input(runtime, index, &value);
    if (name != value.name && !(name.empty() && given.size() == 1)) continue;
    if (given[static_cast<size_t>(index)]) throw UsageError("input " + shown(value.name) + " is given twice");
    given[static_cast<size_t>(index)] = true;
    return index;
  }
  throw UsageError((name.empty() ? "an input has no name" : "no input " + shown(name)) + "; inputs: " + names_of_inputs(runtime));
}

std::vector<GivenInput> read_inputs(vta_runtime* runtime, const std::vector<std::string>& inputs) {
  std::vector<bool> given(static_cast<size_t>(vta_runtime_inputs(runtime)));
  std::vector<GivenInput> arrays;
  for (const std::string& text : inputs) {
    const auto [name, path] = split_input(runtime, text);
    const int32_t index = find_input(runtime, name, given);
    arrays.push_back({path, index, read_npy(path)});
  }
  for (int32_t index = 0; index < vta_runtime_states(runtime); ++index) {
    vta_runtime_state state;
    vta_runtime_state_at(runtime, index, &state);
    given[static_cast<size_t>(state.input)] = true;
  }
  for (size_t index = 0; index < given.size(); ++index) {
    vta_runtime_value value;
    vta_runtime_input(runtime, static_cast<int32_t>(index), &value);
    if (!given[index]) throw UsageError("input " + shown(value.name) + " (" + text_of(value) + ") is not given");
  }
  return arrays;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void check_output(const Stream& stream, const std::string& path) {
  if (path.empty() || ends_with(path, ".npz")) return;
  if (!ends_with(path, ".npy")) throw UsageError("--output " + shown(path) + "; allowed are names that end with .npz or .npy");
  if (stream.outputs().size() != 1) throw UsageError("--output " + shown(path) + ": the network has several outputs, which a .npz file holds");
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first {}, second {};
  if (stat(one.c_str(), &first) != 0 || stat(other.c_str(), &second) != 0 || !S_ISREG(first.st_mode)) return false;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// What is read is never written over.
void check_kept(const Options& options, const std::vector<GivenInput>& inputs) {
  const std::pair<const char*, const std::string&> outputs[] = {{"--output", options.output}, {"--save-state", options.state}};
  for (const auto& [name, path] : outputs) {
    bool is_read = is_same_file(path, options.artifact);
    for (const GivenInput& input : inputs) is_read = is_read || is_same_file(path, input.path);
    if (is_read) throw UsageError(std::string(name) + " " + shown(path) + " would write over what is read; name another file");
  }
  if (is_same_file(options.output, options.state)) throw UsageError("--save-state " + shown(options.state) + " is the same file as --output");
}

void check_state(vta_runtime* runtime, const std::string& path) {
  if (path.empty()) return;
  if (!ends_with(path, ".npz")) throw UsageError("--save-state " + shown(path) + "; allowed are names that end with .npz");
  if (vta_runtime_states(runtime) == 0) throw UsageError("--save-state " + shown(path) + ": the network keeps nothing");
}

void write_arrays(const NamedArrays& arrays, const std::string& path) {
  if (path.empty()) return;
  if (ends_with(path, ".npy")) {
    write_file(path, npy_bytes(arrays.at(0).second));
    return;
  }
  std::vector<std::pair<std::string, std::vector<uint8_t>>> members;
  for (const auto& [name, array] : arrays) members.emplace_back(name + ".npy", npy_bytes(array));
  std::vector<uint8_t> content;
  write_archive(content, members);
  write_file(path, content);
}

void print(const Options& options, int64_t frames, const vta_runtime_times& times) {
  const double total = times.host_seconds + times.device_seconds;
  if (options.json) {
    std::printf("{");
    if (options.frames) std::printf("\"frames\": %lld, ", static_cast<long long>(frames));
    std::printf("\"device\": \"%s\", \"device_runs\": %lld, \"seconds\": %.9f, \"host_seconds\": %.9f, \"device_seconds\": %.9f}\n",
                options.device == "sim" ? "sim" : "board", static_cast<long long>(times.device_runs), total, times.host_seconds, times.device_seconds);
  } else {
    if (options.frames) std::printf("%lld frames in ", static_cast<long long>(frames));
    std::printf("%lld device runs; %.6f s on the device, %.6f s on the host\n", static_cast<long long>(times.device_runs),
                times.device_seconds, times.host_seconds);
  }
  if (std::fflush(stdout) != 0) throw FileError("standard output: the result cannot be written");
}

void run(const Options& options) {
  const vta_runtime_options chosen = {options.device.c_str(), options.design.c_str(), options.registers.c_str(), options.buffer.c_str(),
                                      options.memory_bytes,   options.limit_seconds,  static_cast<int32_t>(options.threads)};
  char error[2048] = "";
  const Opened opened{vta_runtime_open(options.artifact.c_str(), &chosen, error, sizeof error)};
  if (opened.runtime == nullptr) throw std::runtime_error(error);
  check_state(opened.runtime, options.state);
  std::vector<GivenInput> inputs = read_inputs(opened.runtime, options.inputs);
  check_kept(options, inputs);
  Stream stream(opened.runtime, std::move(inputs), options.frames);
  check_output(stream, options.output);
  vta_runtime_times fastest{};
  for (int64_t count = 0; count < options.repeat; ++count) {
    const vta_runtime_times times = stream.run();
    const bool is_faster = times.host_seconds + times.device_seconds < fastest.host_seconds + fastest.device_seconds;
    if (count == 0 || is_faster) fastest = times;
  }
  write_arrays(stream.outputs(), options.output);
  write_arrays(stream.states(), options.state);
  print(options, stream.frames(), fastest);
}

}  // namespace

}  // namespace vta

int32_t vta_runtime_main(int32_t count, const char* const* arguments) {
  try {
    const vta::Options options = vta::parse({arguments + 1, arguments + count});
    if (options.help) {
      std::fputs(vta::kUsage, stdout);
      return 0;
    }
    vta::run(options);
    return 0;
  } catch (const vta::UsageError& problem) {
    std::fprintf(stderr, "vta-run: error: %s\nsee 'vta-run --help'\n", vta::printable(problem.what()).c_str());
    return 2;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "vta-run: error: %s\n", vta::printable(problem.what()).c_str());
    return 1;
  }
}
