#include "cycle/program.h"

#include <string>

#include "isa/engine_error.h"
#include "functional/tokens.h"

namespace vta {

namespace {

uint8_t queue_bits(bool first, Queue first_queue, bool second, Queue second_queue) {
  const int low = first ? 1 << static_cast<int>(first_queue) : 0;
  return static_cast<uint8_t>(low | (second ? 1 << static_cast<int>(second_queue) : 0));
}

void decode_tokens(const Header& header, Step& step) {
  const bool compute = header.unit == Unit::kCompute;
  step.pops = queue_bits(header.pop_prev, compute ? Queue::kLoadToCompute : Queue::kComputeToStore, header.pop_next,
                         compute ? Queue::kStoreToCompute : Queue::kComputeToLoad);
  step.pushes = queue_bits(header.push_prev, compute ? Queue::kComputeToLoad : Queue::kStoreToCompute, header.push_next,
                           compute ? Queue::kComputeToStore : Queue::kLoadToCompute);
}

void check_memory(const Transfer& transfer, const Header& header, uint64_t index, const Geometry& geometry) {
  const bool store = header.unit == Unit::kStore;
  const bool stored = transfer.memory_type == static_cast<uint8_t>(Memory::kOut);
  if (store ? stored : geometry.loads(transfer.memory_type)) return;
  fail(index, header.unit,
       std::string(store ? "STORE" : "LOAD") + " has memory_type " + std::to_string(transfer.memory_type) + "; allowed: " +
           (store ? "4 (OUT)" : geometry.loaded_types()));
}

void decode_moves(const Transfer& transfer, const Header& header, uint64_t index, const Geometry& geometry, Step& step) {
  if (transfer.x_size == 0) return;
  check_memory(transfer, header, index, geometry);
  step.memory = static_cast<Memory>(transfer.memory_type);
  const int64_t width = transfer.x_pad_0 + transfer.x_size + transfer.x_pad_1;
  const int64_t total = width * (transfer.y_pad_0 + transfer.y_size + transfer.y_pad_1);
  const int64_t depth = geometry.depth(step.memory);
  if (transfer.sram_base + total > depth) {
    fail(index, header.unit, "reaches SRAM row " + std::to_string(transfer.sram_base + total - 1) + " of " +
                                 memory_name(step.memory) + "; the last row is " + std::to_string(depth - 1));
  }
  const auto bytes = static_cast<uint64_t>(geometry.elem_bytes(step.memory));
  step.rows = static_cast<uint32_t>(transfer.y_size);
  step.row_elements = static_cast<uint32_t>(transfer.x_size);
  step.address = static_cast<uint64_t>(transfer.dram_base) * bytes;
  step.row_bytes = static_cast<uint64_t>(transfer.x_size) * bytes;
  step.stride_bytes = static_cast<uint64_t>(transfer.x_stride) * bytes;
  step.zeros = transfer.y_size == 0 ? 0 : static_cast<uint64_t>(total - transfer.x_size * transfer.y_size);
  step.pad_rows_before = static_cast<uint32_t>(transfer.y_pad_0);
  step.pads_rows_only = transfer.x_pad_0 + transfer.x_pad_1 == 0;
}

// The opcode of a GEMM's nest is 0.
void check_alu(const Nest& nest, const Header& header, uint64_t index, const Geometry& geometry) {
  const int last = geometry.last_alu_op();
  if (nest.total() == 0 || nest.alu_op <= last) return;
  fail(index, header.unit, "ALU has alu_opcode " + std::to_string(nest.alu_op) + "; allowed: 0 to " + std::to_string(last));
}

Step decode_step(const Words& words, uint64_t index, const Geometry& geometry) {
  const Header header = decode_header(words);
  check_header(header, index, geometry);
  Step step{};
  step.unit = header.unit;
  step.opcode = static_cast<Opcode>(header.opcode);
  decode_tokens(header, step);
  if (step.opcode == Opcode::kLoad || step.opcode == Opcode::kStore) {
    decode_moves(decode_transfer(words), header, index, geometry, step);
  } else if (step.opcode != Opcode::kFinish) {
    const bool gemm = step.opcode != Opcode::kAlu;
    const Nest nest = gemm ? decode_gemm(words, geometry) : decode_alu(words, geometry);
    check_alu(nest, header, index, geometry);
    step.resets = gemm && nest.reset;
    step.two_operands = !gemm && !nest.use_imm;
    step.uops = static_cast<uint64_t>(nest.steps());
    step.slots = static_cast<uint64_t>(nest.slots());
    step.inner_loops = static_cast<uint32_t>(nest.iter_out * nest.iter_in);
  }
  return step;
}

}  // namespace

void CycleProgram::decode(const vta_cycle_job& job, const Geometry& geometry) {
  if (job.first > job.last) throw EngineError("the first instruction of the run lies behind the last");
  steps_.clear();
  finishes_ = false;
  steps_.reserve(job.last - job.first);
  for (std::vector<uint32_t>& unit : units_) unit.clear();
  for (uint64_t index = job.first; index < job.last; ++index) {
    steps_.push_back(decode_step(read_words(job.stream, index), index, geometry));
    finishes_ = finishes_ || steps_.back().opcode == Opcode::kFinish;
    units_[static_cast<size_t>(steps_.back().unit)].push_back(static_cast<uint32_t>(index - job.first));
  }
}

}  // namespace vta
