// What a board is: the same description as that of the Python drivers, as JSON.
#ifndef VTA_RUNTIME_BOARD_H
#define VTA_RUNTIME_BOARD_H

#include <map>
#include <string>

namespace vta {

struct Board {
  std::string name;
  std::string driver;
  // The memory that processor and accelerator share, by the processor's addresses; the accelerator adds `device_offset`.
  uint64_t memory_start;
  uint64_t memory_end;
  int64_t device_offset;

  // Of the design.
  std::string design;
  std::string registers;  // core, vcr or hls
  std::string target;
  int bus_bits;
  bool is_coherent;
  std::map<std::string, uint64_t> bases;
  size_t span;
};

// Throws FileError naming the file, the field and what is allowed.
Board read_board(const std::string& path, const std::string& design);

}  // namespace vta

#endif
