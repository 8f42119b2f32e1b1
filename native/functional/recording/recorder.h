// Makes a recording from the order in which a run has executed its instructions.
#ifndef VTA_RECORDER_H
#define VTA_RECORDER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "functional/recording/recording.h"

namespace vta {

class Recorder {
 public:
  // `job` has run from a reset, with checks, and ended well.
  Recorder(const Geometry& geometry, const vta_functional_job& job);

  // The steps of the instructions in the order of their execution; none where these cannot be recorded: they are too many, use an
  // option of the hardware, or store where micro-ops come from.
  std::optional<Recording> record(const std::vector<uint64_t>& order);

 private:
  bool add(uint64_t index);
  bool add_load(const Transfer& transfer);
  void add_store(const Transfer& transfer);
  bool add_products(const Nest& nest);
  void add_zeros(const Nest& nest);
  bool add_alu(const Nest& nest);

  void add_step(RecordedKind kind, size_t at);
  RecordedNest nest_of(const Nest& nest);
  bool load_uops(const Transfer& transfer);
  bool stores_uops() const;

  // Opens a chain whose first link it is; whether the nest can be one.
  bool open_chain(const Nest& nest, const ChainLink& link);
  // Adds a link to the open chain; whether it can be one of that.
  bool join_chain(const Nest& nest, const ChainLink& link);
  ChainLink link_of(const Nest& nest) const;
  bool reads_own_rows(const Nest& nest) const;

  // Leaves out what is stored to OUT and overwritten there before anything reads it.
  void drop_unread();

  RowMask rows_of(const RecordedNest& nest) const;
  RowMask rows_of(const RecordedChain& chain) const;

  const Geometry geometry_;
  const vta_functional_job job_;
  const UopDecoder decode_uop_;
  std::vector<Uop> sram_;  // micro-ops on chip
  std::vector<DramRange> stored_;
  size_t loaded_uops_ = 0;
  bool chain_is_open_ = false;  // the last one of the recording
  Recording made_{};
};

}  // namespace vta

#endif
