// The memory behind the AXI master: the read and the write port of native/TIMING.md.
//
// Reads see memory as it is when they are granted, writes reach it with their response: a core that relies on more than
// the bus promises reads stale bytes.
#ifndef VTA_HARDWARE_VERILATOR_MEMORY_MODEL_H
#define VTA_HARDWARE_VERILATOR_MEMORY_MODEL_H

#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness.h"

namespace vta::rtl {

class MemoryModel {
 public:
  struct Burst {
    uint64_t address;
    uint64_t beats;
    uint32_t id;
  };

  MemoryModel(uint8_t* memory, uint64_t bytes, const vta_rtl_memory& model, uint64_t bus_bytes)
      : memory_(memory), bytes_(bytes), model_(model), bus_bytes_(bus_bytes) {
    reset();
  }

  void reset() {
    reads_.clear();
    addresses_.clear();
    writes_.clear();
    beats_.clear();
    port_free_ = last_response_ = 0;
    held_ = false;
    random_.seed(model_.stall_seed);
  }

  bool stalls() const { return model_.stall_permille != 0; }

  // True with the probability of a stall.
  bool withhold() { return stalls() && random_() % 1000 < model_.stall_permille; }

  bool idle() const { return reads_.empty() && writes_.empty() && addresses_.empty() && beats_.empty(); }

  void grant(const Burst& burst, uint64_t cycle) {
    check(burst, "read");
    const uint64_t start = std::max(cycle + model_.read_latency, port_free_);
    port_free_ = start + burst.beats * model_.beat_interval;
    const uint8_t* from = memory_ + burst.address;
    reads_.push_back({burst, start, 0, {from, from + burst.beats * bus_bytes_}});
  }

  // The beat on the read port in this cycle: its bytes, or nullptr. An offered beat stays until it is taken.
  const uint8_t* offered(uint64_t cycle) {
    if (!held_) {
      if (reads_.empty() || withhold()) return nullptr;
      chosen_ = stalls() ? any_of_its_id() : 0;
      if (cycle < chosen().start + chosen().sent * model_.beat_interval) return nullptr;
      held_ = true;
    }
    return chosen().data.data() + chosen().sent * bus_bytes_;
  }

  uint32_t offered_id() const { return reads_[chosen_].burst.id; }
  bool offered_last() const { return reads_[chosen_].sent + 1 == reads_[chosen_].burst.beats; }

  void take(uint64_t cycle) {
    held_ = false;
    Read& read = chosen();
    if (++read.sent == read.burst.beats) {
      reads_.erase(reads_.begin() + chosen_);
    } else if (stalls()) {
      read.start = cycle + 1 - read.sent * model_.beat_interval;
    }
  }

  void address_write(const Burst& burst) {
    check(burst, "write");
    addresses_.push_back(burst);
  }

  void write_beat(const uint8_t* data, uint64_t strobes, bool last, uint64_t cycle) {
    beats_.push_back({{data, data + bus_bytes_}, strobes, last, cycle});
  }

  // Matches beats with their addresses; call once a cycle after both have been handed in.
  void gather() {
    while (!beats_.empty() && !addresses_.empty()) {
      Burst& burst = addresses_.front();
      Beat& beat = beats_.front();
      pending_.push_back({burst.address, std::move(beat.data), beat.strobes});
      burst.address += bus_bytes_;
      burst.beats -= 1;
      if (beat.last != (burst.beats == 0)) fail("wlast does not mark the last beat of a write burst", burst.address);
      const uint64_t cycle = beat.cycle;
      beats_.pop_front();
      if (burst.beats > 0) continue;
      last_response_ = std::max(cycle + model_.write_latency, last_response_ + 1);
      writes_.push_back({std::move(pending_), last_response_, burst.id});
      pending_.clear();
      addresses_.pop_front();
    }
    if (!stalls() && !beats_.empty()) fail("a write beat came before its address", 0);
  }

  // Whether a write response is on the port in this cycle; the bytes of the burst are in memory then.
  bool responds(uint64_t cycle) {
    if (writes_.empty() || cycle < writes_.front().response) return false;
    for (const Piece& piece : writes_.front().pieces) {
      for (uint64_t lane = 0; lane < bus_bytes_; ++lane) {
        if (piece.strobes >> lane & 1) memory_[piece.address + lane] = piece.data[lane];
      }
    }
    writes_.front().pieces.clear();
    return true;
  }

  uint32_t response_id() const { return writes_.front().id; }
  void take_response() { writes_.pop_front(); }

 private:
  struct Read {
    Burst burst;
    uint64_t start;
    uint64_t sent;
    std::vector<uint8_t> data;
  };
  struct Piece {
    uint64_t address;
    std::vector<uint8_t> data;
    uint64_t strobes;
  };
  struct Beat {
    std::vector<uint8_t> data;
    uint64_t strobes;
    bool last;
    uint64_t cycle;
  };
  struct Write {
    std::vector<Piece> pieces;
    uint64_t response;
    uint32_t id;
  };

  Read& chosen() { return reads_[chosen_]; }

  // A random burst, or the oldest with the same id: only bursts of different ids may overtake each other.
  size_t any_of_its_id() {
    const uint32_t id = reads_[random_() % reads_.size()].burst.id;
    size_t index = 0;
    while (reads_[index].burst.id != id) ++index;
    return index;
  }

  void check(const Burst& burst, const char* what) const {
    const uint64_t size = burst.beats * bus_bytes_, window = model_.burst_beats * bus_bytes_;
    const std::string name = std::string(what) + " burst of " + std::to_string(size) + " bytes";
    if (burst.address % bus_bytes_ != 0) fail(name + " is not aligned to the bus", burst.address);
    if (burst.address / window != (burst.address + size - 1) / window) {
      fail(name + " crosses a multiple of " + std::to_string(window) + " bytes", burst.address);
    }
    if (burst.address > bytes_ || size > bytes_ - burst.address) {
      fail(name + " is outside the memory of " + std::to_string(bytes_) + " bytes", burst.address);
    }
  }

  [[noreturn]] static void fail(const std::string& what, uint64_t address) {
    char text[32];
    std::snprintf(text, sizeof text, " (address 0x%llx)", static_cast<unsigned long long>(address));
    throw std::runtime_error(what + text);
  }

  uint8_t* memory_;
  uint64_t bytes_;
  vta_rtl_memory model_;
  uint64_t bus_bytes_;
  std::deque<Read> reads_;
  uint64_t port_free_ = 0;
  size_t chosen_ = 0;
  bool held_ = false;
  std::deque<Burst> addresses_;
  std::deque<Beat> beats_;
  std::vector<Piece> pending_;
  std::deque<Write> writes_;
  uint64_t last_response_ = 0;
  std::mt19937_64 random_;
};

}  // namespace vta::rtl

#endif
