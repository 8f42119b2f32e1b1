#include "isa/geometry.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace vta {

namespace {

constexpr int kMaxLogDepth = 16;
constexpr int kMaxLogElemBytes = 12;
constexpr int kLogTableElemBytes = 2, kLogTableRows = 6;

void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(std::string("the hardware config does not encode: ") + what);
}

bool within(int value, int low, int high) { return low <= value && value <= high; }

}  // namespace

const char* memory_name(Memory memory) {
  static constexpr const char* kNames[] = {"UOP", "WGT", "INP", "ACC", "OUT", "ACC_8BIT", "TABLE"};
  return kNames[static_cast<int>(memory)];
}

Geometry::Geometry(const vta_geometry& config) {
  require(config.log_inp_width == 3 && config.log_wgt_width == 3, "inputs and weights must be 8 bits wide");
  require(within(config.log_acc_width, 4, 5), "accumulators must be 16 or 32 bits wide");
  require(within(config.log_batch, 0, 6), "LOG_BATCH must be 0 to 6");
  require(within(config.log_block, 2, 6), "LOG_BLOCK must be 2 to 6");
  batch = 1 << config.log_batch;
  block = 1 << config.log_block;
  acc_bits = 1 << config.log_acc_width;
  requantizes = config.requantize_unit != 0;
  has_table = config.table_unit != 0;
  has_depthwise = config.depthwise_unit != 0;
  require(!requantizes || acc_bits == 32, "the requantize unit takes accumulators of 32 bits");
  require(!has_table || requantizes, "the table unit takes the requantize unit");
  const int vector = config.log_batch + config.log_block;
  log_elem_bytes = {2, 2 * config.log_block, vector, vector + config.log_acc_width - 3, vector, vector,
                    kLogTableElemBytes};
  const auto rows = [this](int log_bytes, Memory memory) { return log_bytes - log_elem_bytes[static_cast<int>(memory)]; };
  const int uop = rows(config.log_uop_buff_size, Memory::kUop);
  const int wgt = rows(config.log_wgt_buff_size, Memory::kWgt);
  const int inp = rows(config.log_inp_buff_size, Memory::kInp);
  const int acc = rows(config.log_acc_buff_size, Memory::kAcc);
  log_depth = {uop, wgt, inp, acc, acc, acc, kLogTableRows};
  for (int depth : log_depth) require(within(depth, 1, kMaxLogDepth), "a buffer must hold 2 to 65536 rows");
  for (int bytes : log_elem_bytes) require(bytes <= kMaxLogElemBytes, "an element is larger than 4096 bytes");
  require(acc + std::max(acc, inp) + wgt <= 32, "a micro-op needs more than 32 bits");
  require(2 * uop + 37 <= 64, "the micro-op range of GEMM and ALU needs more than 64 bits");
  require(2 * (acc + inp + wgt) <= 64, "the factors of GEMM need more than 64 bits");
  require(4 * acc + 20 <= 64, "the factors of ALU need more than 64 bits");
}

bool Geometry::loads(int type) const {
  if (type == static_cast<int>(Memory::kTable)) return has_table;
  return type < kMemoryCount && type != static_cast<int>(Memory::kOut);
}

}  // namespace vta
