#include "runtime/device/board.h"

#include <algorithm>
#include <vector>

#include "runtime/file/bytes.h"
#include "runtime/file/file_error.h"
#include "runtime/file/json.h"

namespace vta {

namespace {

constexpr uint64_t kMostBytes = 1 << 20;
constexpr int64_t kAddresses = int64_t{1} << 32;
constexpr int64_t kPage = 4096;

std::string choice(const Json& value, const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value.text()) == allowed.end()) {
    std::string names;
    for (const std::string& name : allowed) names += (names.empty() ? "" : ", ") + name;
    value.fail("= " + shown(value.text()) + "; allowed: " + names);
  }
  return value.text();
}

int64_t aligned(const Json& value, int64_t low, int64_t high, int64_t unit) {
  const int64_t found = value.integer(low, high);
  if (found % unit != 0) value.fail("= " + std::to_string(found) + " is no multiple of " + std::to_string(unit));
  return found;
}

}  // namespace

Board read_board(const std::string& path, const std::string& design) {
  const std::vector<uint8_t> content = read_file(path, kMostBytes);
  const Json value = Json::parse({reinterpret_cast<const char*>(content.data()), content.size()}, path);
  Board board{};
  board.name = value["name"].text();
  board.driver = choice(value["driver"], {"pynq", "de10nano"});
  const Json& memory = value["memory"];
  const int64_t start = aligned(memory["start"], 0, kAddresses - kPage, kPage);
  const int64_t end = aligned(memory["end"], start + kPage, kAddresses, kPage);
  const Json* offset = memory.find("device_offset");
  board.memory_start = static_cast<uint64_t>(start);
  board.memory_end = static_cast<uint64_t>(end);
  board.device_offset = offset == nullptr ? 0 : aligned(*offset, -start, kAddresses - end, kPage);
  board.design = design.empty() ? value["default"].text() : design;
  const Json* chosen = value["designs"].find(board.design.c_str());
  if (chosen == nullptr) throw FileError(path + ": no design " + shown(board.design));
  board.registers = choice((*chosen)["registers"], {"core", "vcr", "hls"});
  board.target = (*chosen)["target"].text();
  board.bus_bits = static_cast<int>((*chosen)["bus_bits"].integer(64, 512));
  board.is_coherent = (*chosen)["coherent"].boolean();
  const Json* span = chosen->find("span");
  board.span = span == nullptr ? kPage : static_cast<size_t>(aligned(*span, kPage, 65536, kPage));
  const bool is_hls = board.registers == "hls";
  for (const char* block : is_hls ? std::vector<const char*>{"fetch", "load", "compute", "store"} : std::vector<const char*>{"core"}) {
    const auto base = aligned((*chosen)["bases"][block], 0, kAddresses - static_cast<int64_t>(board.span), kPage);
    board.bases[block] = static_cast<uint64_t>(base);
  }
  return board;
}

}  // namespace vta
