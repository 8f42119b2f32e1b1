// The template of operators that multiply, one tile of the output after the other.
#ifndef VTA_EMIT_GEMM_TEMPLATE_H
#define VTA_EMIT_GEMM_TEMPLATE_H

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emit/gemm/channel_vectors.h"
#include "emit/gemm/reduction.h"
#include "emit/stream.h"
#include "emit/window.h"
#include "vta_stream_gemm.h"

namespace vta {

class GemmTemplate {
 public:
  // Throws EmitError if a size is not positive. What it is given has to live as long as it does.
  GemmTemplate(Stream& stream, const vta_gemm_operator& op, const vta_gemm_schedule& schedule);

  // Emits the whole operator.
  void run();

 private:
  void emit_tile(const Box& tile);
  void start(const Box& tile, int64_t acc);
  void accumulate(int64_t digit, int64_t digit_end, const Box& tile, int64_t acc, Unwritten& unwritten);
  void finish(const Box& tile, int64_t acc, Unwritten& unwritten);
  void keep_parameters(const Box& tile, int64_t acc, int64_t block);
  void apply(int64_t step, int64_t step_end, const Box& tile, int64_t acc);
  void apply_tensor(const vta_epilogue_step& step, int64_t own, const Box& tile, int64_t acc, int64_t scratch);
  void apply_phases(const vta_epilogue_step& step, const Box& tile, int64_t acc);
  void requantize(const vta_epilogue_step& step, const Box& tile, int64_t acc);
  void load_table();
  void copy(const vta_epilogue_step& branch, const Box& tile, int64_t acc, int64_t scratch);
  void store(const Box& tile, int64_t acc);

  void reset(const Box& tile, int64_t acc);
  void immediate(AluOp op, int64_t value, const Box& tile, int64_t acc);
  void vector(AluOp op, const Box& tile, int64_t acc, int64_t number);
  void rows(AluOp op, const Box& tile, int64_t acc, int64_t operand);

  Stream& stream_;
  const vta_gemm_operator& op_;
  const vta_gemm_schedule& schedule_;
  ChannelVectors vectors_;
  Reduction reduction_;
  int64_t finishing_term_ = -1;  // whose last products requantize; -1: none
  int64_t kept_ = -1;            // row of the parameters that are there for it
  bool reaches_all_;  // products reach every row of a tile
  int64_t acc_slot_ = -1;
  std::vector<int64_t> initialized_;  // of each slot: rows that an accumulator init can start from, or that are zero
  std::unordered_map<int64_t, int64_t> copied_;  // rows of a branch that hold a copy, by the first
  int64_t next_vector_ = 0, next_digit_ = 0;
};

}  // namespace vta

#endif
