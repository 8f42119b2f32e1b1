// Cuts transfers into bursts, and says when their beats are consumed.
#ifndef VTA_CYCLE_BURSTS_H
#define VTA_CYCLE_BURSTS_H

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cycle/recorder.h"

namespace vta {

struct BusShape {
  int log_bytes;        // of a beat
  int log_burst_beats;  // no burst crosses a multiple of this

  explicit BusShape(const vta_timing& timing)
      : log_bytes(log2_of(timing.bus_bits / 8)), log_burst_beats(log2_of(timing.burst_beats)) {}

 private:
  static int log2_of(uint32_t value) {
    int log = 0;
    while (value >> (log + 1) != 0) ++log;
    return log;
  }
};

// Walks over the bursts of equally long rows.
class BurstCursor {
 public:
  explicit BurstCursor(const BusShape& bus) : bus_(bus) {}

  void begin(uint64_t address, uint64_t row_bytes, uint64_t stride_bytes, uint32_t rows) {
    address_ = address;
    row_bytes_ = row_bytes;
    stride_bytes_ = stride_bytes;
    rows_left_ = rows;
    if (rows > 0) begin_row();
  }

  bool done() const { return rows_left_ == 0; }
  uint64_t beats() const { return next_ - word_; }

  void advance() {
    if (next_ < row_end_) {
      begin_burst(next_);
    } else if (--rows_left_ > 0) {
      address_ += stride_bytes_;
      begin_row();
    }
  }

 private:
  void begin_row() {
    row_end_ = ((address_ + row_bytes_ - 1) >> bus_.log_bytes) + 1;
    begin_burst(address_ >> bus_.log_bytes);
  }

  void begin_burst(uint64_t word) {
    word_ = word;
    next_ = std::min(row_end_, ((word >> bus_.log_burst_beats) + 1) << bus_.log_burst_beats);
  }

  const BusShape bus_;
  uint64_t address_ = 0;
  uint64_t row_bytes_ = 0;
  uint64_t stride_bytes_ = 0;
  uint64_t row_end_ = 0;  // first word after the row
  uint64_t word_ = 0;
  uint64_t next_ = 0;  // first word after the burst
  uint32_t rows_left_ = 0;
};

// Beats of all rows.
inline uint64_t count_beats(const BusShape& bus, uint64_t address, uint64_t row_bytes, uint64_t stride_bytes, uint32_t rows) {
  uint64_t beats = 0;
  for (uint32_t row = 0; row < rows; ++row, address += stride_bytes) {
    beats += ((address + row_bytes - 1) >> bus.log_bytes) + 1 - (address >> bus.log_bytes);
  }
  return beats;
}

// When the beats that lie in a client's buffer leave it. Beats are counted from 1 over the whole run.
class Consumption {
 public:
  void reset(uint64_t capacity) {
    size_t size = 1;
    while (size < capacity + 2) size *= 2;
    runs_.assign(size, {});
    head_ = tail_ = 0;
    total_ = 0;
  }

  // The next `count` beats leave in the cycles from `start` on.
  void add(uint64_t start, uint64_t count) {
    const uint64_t offset = start - total_;
    total_ += count;
    if (head_ != tail_ && slot(tail_ - 1).offset == offset) {
      slot(tail_ - 1).end = total_;
    } else {
      slot(tail_++) = {offset, total_};
    }
  }

  // The cycle in which beat `beat` leaves. Calls must not go backwards.
  uint64_t at(uint64_t beat) {
    while (slot(head_).end < beat) ++head_;
    return slot(head_).offset + beat - 1;
  }

 private:
  // Beats up to `end`; beat n leaves at offset + n - 1. The offset may have wrapped around zero.
  struct Run {
    uint64_t offset;
    uint64_t end;
  };

  Run& slot(size_t index) { return runs_[index & (runs_.size() - 1)]; }

  std::vector<Run> runs_;
  size_t head_ = 0;
  size_t tail_ = 0;
  uint64_t total_ = 0;
};

}  // namespace vta

#endif
