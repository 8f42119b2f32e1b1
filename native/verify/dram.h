// What a program reads and writes in DRAM, in cells of the smallest element that it can store.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "verify/schedule.h"

namespace vta::verify {

// A set of addresses as sorted, disjoint intervals.
class Intervals {
 public:
  void add(uint64_t start, uint64_t end) { spans_.push_back({start, end}); }
  // Call once after the last add.
  void merge();
  bool covers(uint64_t start, uint64_t end) const;
  bool intersects(uint64_t start, uint64_t end) const;

 private:
  struct Span {
    uint64_t start, end;
  };
  std::vector<Span> spans_;
};

// Bytes of a 2-D transfer: `rows` runs of `run` bytes, `pitch` bytes apart.
struct Transfer {
  uint64_t start;
  int64_t rows;
  uint64_t run;
  uint64_t pitch;
};

// Where the bytes of a read come from.
enum class Source { kOutside, kInitial, kStored };

class Dram {
 public:
  Dram(const vta_verify_program& program, int log_cell, const Schedule& schedule, Report& report);

  // Tells in advance what a STORE will write: only there need reads be remembered.
  void plan_store(const Transfer& transfer);
  // Returns kStored if the program stored any of what is read: its contents are not known beforehand.
  Source read(int32_t instruction, int memory, const Transfer& transfer);
  void write(int32_t instruction, const Transfer& transfer);
  bool constant(const Transfer& transfer) const;
  // Looks up initial contents; false if there are none.
  bool initial(uint64_t address, void* bytes, int count);
  void check_outputs();

 private:
  struct Cell {
    int32_t store = -1;
    std::array<int32_t, 2> readers{-1, -1};  // load unit, compute unit
  };
  struct Tally {
    int64_t first = -1, count = 0, other = -1;
    void note(uint64_t address, uint64_t bytes, int64_t instruction = -1) {
      if (count == 0) first = static_cast<int64_t>(address), other = instruction;
      count += static_cast<int64_t>(bytes);
    }
  };
  struct ReadState {
    int32_t instruction;
    Unit unit;
    bool stored;
    Tally race, unread;
  };

  bool in_bounds(int32_t instruction, const Transfer& transfer);
  void read_run(ReadState& state, uint64_t start, uint64_t end);
  void read_cells(ReadState& state, std::vector<Cell>& cells, uint64_t start, uint64_t end, bool initialized);
  std::vector<Cell>* page_of(uint64_t address);
  void add(Kind kind, int32_t instruction, const Tally& tally);

  const vta_verify_program& program_;
  const Schedule& schedule_;
  Report& report_;
  int log_cell_;
  Intervals covered_, initialized_, read_only_, constant_;
  std::vector<vta_verify_contents> contents_;
  size_t last_contents_ = 0;
  std::unordered_map<uint64_t, std::vector<Cell>> pages_;
  uint64_t cached_number_ = ~uint64_t{0};
  std::vector<Cell>* cached_page_ = nullptr;
};

}  // namespace vta::verify
