// Runs that are recorded, and done again for other data.
#include <algorithm>

#include "functional/engine.h"
#include "functional/recording/recorder.h"

namespace vta {

namespace {

// Only what no check depends on but those that the recorded run has passed, and nothing that later runs may be given otherwise.
bool may_be_recorded(const vta_functional_job& job) {
  return job.checks != 0 && job.dram_checks == 0 && job.operator_index == nullptr && job.rank == nullptr && job.random_order == 0;
}

}  // namespace

void FunctionalEngine::keep_recording() {
  recording_.reset();
  if (!records_ || !may_be_recorded(job_)) return;
  recording_ = Recorder(geometry_, job_).record(order_);
  if (!recording_) return;
  recording_->written = scratchpad_.all_written();
  recording_->tokens = tokens_.counts;
  recording_->counters = counters_.back();
}

bool FunctionalEngine::has_recorded(const vta_functional_job& job, const std::vector<DramRange>& given) const {
  if (!recording_ || !may_be_recorded(job) || !recording_->holds_for(job)) return false;
  for (const DramRange& range : given) {
    if (recording_->loads_uops_from(range)) return false;
  }
  return true;
}

// Without what only checks need, where that takes long: inputs are many short lines.
void FunctionalEngine::load_again(const Transfer& transfer) {
  const auto memory = static_cast<Memory>(transfer.memory_type);
  const int64_t bytes = geometry_.elem_bytes(memory), length = transfer.x_pad_0 + transfer.x_size + transfer.x_pad_1;
  const bool short_pads = std::max(transfer.x_pad_0, transfer.x_pad_1) * bytes <= Scratchpad::kZeroBytes;
  if (memory != Memory::kInp || geometry_.has_depthwise || !short_pads) return copy_in(transfer, memory);
  int64_t row = transfer.sram_base;
  if (transfer.y_pad_0 > 0) scratchpad_.load_zeros(memory, row, transfer.y_pad_0 * length);
  row += transfer.y_pad_0 * length;
  scratchpad_.load_lines(row, job_.dram + transfer.dram_base * bytes, transfer.x_stride * bytes, transfer.y_size, transfer.x_size,
                         transfer.x_pad_0, transfer.x_pad_1);
  row += transfer.y_size * length;
  if (transfer.y_pad_1 > 0) scratchpad_.load_zeros(memory, row, transfer.y_pad_1 * length);
}

NestPart FunctionalEngine::recorded_part(const RecordedNest& nest) const {
  NestPart part = nest.part;
  part.uops = recording_->uops.data() + nest.first_uop;
  return part;
}

void FunctionalEngine::replay(const vta_functional_job& job) {
  job_ = job;
  const Recording& made = *recording_;
  int32_t* acc = scratchpad_.acc();
  int8_t* out = scratchpad_.out();
  for (const RecordedStep& step : made.steps) {
    switch (step.kind) {
      case RecordedKind::kLoad:
        load_again(made.loads[step.at]);
        break;
      case RecordedKind::kStore:
        copy_out(made.stores[step.at]);
        break;
      case RecordedKind::kZeros:
        zero_rows(recorded_part(made.zeros[step.at]));
        break;
      case RecordedKind::kProducts: {
        const RecordedProducts& products = made.products[step.at];
        kernels_.gemm({recorded_part(products.nest), scratchpad_.inp(), scratchpad_.wgt(), acc, products.to_out ? out : nullptr,
                       geometry_.batch});
        break;
      }
      case RecordedKind::kAlu: {
        const RecordedAlu& alu = made.alus[step.at];
        kernels_.alu({recorded_part(alu.nest), acc, out, geometry_.lanes(), alu.op, alu.use_imm, alu.imm});
        break;
      }
      case RecordedKind::kChain: {
        const RecordedChain& chain = made.chains[step.at];
        kernels_.chain({chain.dst, chain.factors, chain.iter_out, chain.iter_in, made.links.data() + chain.links, chain.count, acc,
                        chain.to_out ? out : nullptr, geometry_.lanes()});
        break;
      }
    }
  }
  scratchpad_.set_all_written(made.written);
  tokens_.counts = made.tokens;
  counters_.assign(size_t{job.operator_count} + 1, vta_functional_counters{});
  counters_.back() = made.counters;
  has_replayed_ = true;
}

}  // namespace vta
