// What a run has done, as steps that do the same to other data. No instruction of VTA depends on data, so that what the first of many
// samples has shown holds for the others: the order of the instructions, that they decode, stay inside of every memory and read nothing
// that is not written.
#ifndef VTA_RECORDING_H
#define VTA_RECORDING_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "functional/scratchpad.h"
#include "kernels/kernels.h"
#include "vta_functional.h"

namespace vta {

enum class RecordedKind : uint8_t { kLoad, kStore, kZeros, kProducts, kAlu, kChain };

// Of one kind each; `at` is its place among those.
struct RecordedStep {
  RecordedKind kind;
  uint32_t at;
};

// A loop nest whose micro-ops are those of the recording from `first_uop` on.
struct RecordedNest {
  NestPart part;
  size_t first_uop;
};

struct RecordedProducts {
  RecordedNest nest;
  bool to_out;
};

struct RecordedAlu {
  RecordedNest nest;
  AluOp op;
  bool use_imm;
  int32_t imm;
};

// The links are `count` ones from `links` on.
struct RecordedChain {
  int64_t dst;
  Factors factors;
  int64_t iter_out;
  int64_t iter_in;
  size_t links;
  int64_t count;
  bool to_out;
};

struct DramRange {
  uint64_t first;
  uint64_t last;

  bool meets(const DramRange& other) const { return first < other.last && other.first < last; }
};

struct Recording {
  std::vector<RecordedStep> steps;
  std::vector<Transfer> loads;
  std::vector<Transfer> stores;
  std::vector<RecordedNest> zeros;
  std::vector<RecordedProducts> products;
  std::vector<RecordedAlu> alus;
  std::vector<RecordedChain> chains;
  std::vector<ChainLink> links;
  std::vector<Uop> uops;

  // What it was made of, with the device memory that micro-ops are loaded from.
  std::vector<uint8_t> stream;
  uint64_t dram_bytes;
  std::vector<DramRange> uop_ranges;
  std::vector<uint8_t> uop_bytes;

  // What the run has left.
  Scratchpad::Written written;
  std::array<uint64_t, 4> tokens;
  vta_functional_counters counters;

  // Whether the run of a job does these steps: the stream is the same, the micro-ops are, and device memory is not smaller.
  bool holds_for(const vta_functional_job& job) const;

  // Whether one of the ranges is where micro-ops come from.
  bool loads_uops_from(const DramRange& range) const;
};

}  // namespace vta

#endif
