// The distinct micro-op sequences of a stream in DRAM, and which of them lie in the uop SRAM.
#ifndef VTA_EMIT_UOP_STORE_H
#define VTA_EMIT_UOP_STORE_H

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emit/nest.h"

namespace vta {

// The sequences of a stream do not all fit on chip together.
struct UopsOverflow : std::runtime_error {
  UopsOverflow() : std::runtime_error("the micro-ops do not fit on chip together") {}
};

// Sequences are placed one after the other in SRAM; when it is full, placing starts again at 0.
class UopStore {
 public:
  struct Sequence {
    int64_t first;  // of its micro-ops among all that are known
    int64_t count;
    std::array<std::pair<int64_t, int64_t>, 3> range;  // smallest and largest row of dst, src and wgt
    int64_t dram;   // -1 if it has no place there
    int64_t begin;  // in SRAM, -1 if it is not there
  };

  // Where micro-ops lie in DRAM, and how many.
  struct Extent {
    int64_t dram, count;
  };

  UopStore(int64_t depth, bool all_together) : depth_(depth), all_together_(all_together) {}

  // Number of a sequence, the same for equal ones.
  int64_t number_of(const Rows* uops, int64_t count);
  int64_t number_of_single(const Rows& uop);
  const Sequence& operator[](int64_t number) const { return sequences_[number]; }
  // Number of the sequence that lies from SRAM row `begin` on.
  int64_t number_at(int64_t begin) const { return on_chip_.at(begin); }

  // Gives a sequence that is not on chip a place there, taking it from others, and one in DRAM if it has none. Throws EmitError
  // if it is too long, and UopsOverflow.
  void place(int64_t number);

  // Forgets what is on chip and in DRAM, and begins placing at row 0.
  void start_group();
  // What the group placed in DRAM; nothing if it does not fit on chip together. A group that came before is not kept in DRAM a
  // second time.
  std::optional<Extent> finish_group();

  // Micro-ops in DRAM, and the numbers of their sequences in order.
  int64_t count() const { return count_; }
  const std::vector<int64_t>& in_dram() const { return in_dram_; }
  const Rows* uops_of(int64_t number) const { return uops_.data() + sequences_[number].first; }

 private:
  void evict(int64_t begin, int64_t end);
  std::string bytes_from(size_t index) const;

  int64_t depth_;
  bool all_together_;
  std::vector<Rows> uops_;
  std::vector<Sequence> sequences_;
  std::unordered_map<std::string, int64_t> numbers_;
  std::unordered_map<uint64_t, int64_t> singles_;
  std::vector<int64_t> in_dram_;
  int64_t count_ = 0;
  std::map<int64_t, int64_t> on_chip_;  // by first row
  int64_t next_ = 0;
  bool wrapped_ = false;
  std::unordered_map<std::string, int64_t> groups_;
  size_t group_first_ = 0;
  int64_t group_dram_ = 0;
};

}  // namespace vta

#endif
