#include "runtime/device/control.h"

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "runtime/file/file_error.h"

namespace vta {

namespace {

// What a bus reads where nothing answers.
constexpr uint32_t kNobody = 0xFFFFFFFF;

std::string hexadecimal(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

uint32_t alive(uint32_t value) {
  if (value == kNobody) throw std::runtime_error("the accelerator does not answer: its registers read as 0xffffffff");
  return value;
}

// The core of this package: vta/hardware/registers.py has its map.
class CoreControl : public Control {
 public:
  explicit CoreControl(Mapped registers) : registers_(std::move(registers)) {}

  void check(const vta_geometry& geometry, int bus_bits) override {
    const uint32_t identity = registers_.word(kIdentity);
    if (identity != kCore) {
      throw FileError("the fabric does not hold this core: its register identity is " + hexadecimal(identity) + ", expected " + hexadecimal(kCore));
    }
    check_fields(registers_.word(kGeometry), 4,
                 {{"LOG_INP_WIDTH", geometry.log_inp_width},
                  {"LOG_WGT_WIDTH", geometry.log_wgt_width},
                  {"LOG_ACC_WIDTH", geometry.log_acc_width},
                  {"LOG_BATCH", geometry.log_batch},
                  {"LOG_BLOCK", geometry.log_block}});
    check_fields(registers_.word(kBuffers), 8,
                 {{"LOG_UOP_BUFF_SIZE", geometry.log_uop_buff_size},
                  {"LOG_INP_BUFF_SIZE", geometry.log_inp_buff_size},
                  {"LOG_WGT_BUFF_SIZE", geometry.log_wgt_buff_size},
                  {"LOG_ACC_BUFF_SIZE", geometry.log_acc_buff_size}});
    check_fields(registers_.word(kGeometry) >> 24, 1,
                 {{"REQUANTIZE_UNIT", geometry.requantize_unit},
                  {"TABLE_UNIT", geometry.table_unit},
                  {"DEPTHWISE_UNIT", geometry.depthwise_unit}});
    const int bus = 1 << (registers_.word(kGeometry) >> 20 & 15);
    if (bus != bus_bits) {
      throw FileError("the core in the fabric has a bus of " + std::to_string(bus) + " bits; the board's description says " + std::to_string(bus_bits));
    }
    if ((registers_.word(kControl) & kLaunch) != 0) throw FileError("a run that nobody waits for is still going on");
  }

  void start(const Launch& code, const Launch&) override {
    for (size_t queue = 0; queue < 4; ++queue) registers_.set_word(kTokens + 4 * queue, 0);
    registers_.set_word(kErrors, 0x1FF);
    registers_.set_word(kInterruptStatus, 3);
    registers_.set_word(kInterruptEnable, 0);
    for (size_t base = 0; base < 5; ++base) registers_.set_word(kBases + 4 * base, 0);
    registers_.set_word(kCount, code.count);
    registers_.set_word(kAddress, code.address);
    registers_.set_word(kControl, kLaunch);
  }

  bool done() override { return (alive(registers_.word(kControl)) & kDone) != 0; }

  void check_errors() override {
    const uint32_t errors = registers_.word(kErrors);
    if (errors != 0) throw std::runtime_error("the core reports errors = " + hexadecimal(errors));
  }

  std::string halted() override { return "control reads as " + hexadecimal(registers_.word(kControl)); }

 private:
  struct Field {
    const char* name;
    int32_t wanted;
  };

  static constexpr uint32_t kCore = 0x56544101, kLaunch = 1, kDone = 2;
  static constexpr size_t kControl = 0x00, kCount = 0x08, kAddress = 0x0C, kBases = 0x10, kErrors = 0x28, kInterruptEnable = 0x2C,
                          kInterruptStatus = 0x30, kIdentity = 0x34, kGeometry = 0x38, kBuffers = 0x3C, kTokens = 0x40;

  static void check_fields(uint32_t word, int bits, std::initializer_list<Field> fields) {
    for (const Field& field : fields) {
      const auto found = static_cast<int32_t>(word & ((uint32_t{1} << bits) - 1));
      if (found != field.wanted) {
        throw FileError(std::string("the core in the fabric was built for ") + field.name + " = " + std::to_string(found) +
                        "; this network was compiled for " + std::to_string(field.wanted));
      }
      word >>= bits;
    }
  }

  Mapped registers_;
};

// The published Chisel design: one block of registers with 32-bit addresses.
class VcrControl : public Control {
 public:
  explicit VcrControl(Mapped registers) : registers_(std::move(registers)) {}

  void check(const vta_geometry&, int) override {
    if ((alive(registers_.word(kControl)) & kLaunch) != 0) throw FileError("a run that nobody waits for is still going on");
  }

  void start(const Launch& code, const Launch&) override {
    registers_.set_word(kCount, code.count);
    registers_.set_word(kAddress, code.address);
    for (size_t base = 0; base < 5; ++base) registers_.set_word(kBases + 4 * base, 0);
    registers_.set_word(kControl, kLaunch);
  }

  bool done() override { return (alive(registers_.word(kControl)) & kDone) != 0; }
  void check_errors() override {}  // it reports none
  std::string halted() override { return "control reads as " + hexadecimal(registers_.word(kControl)); }

 private:
  static constexpr uint32_t kLaunch = 1, kDone = 2;
  static constexpr size_t kControl = 0x00, kCount = 0x08, kAddress = 0x0C, kBases = 0x10;

  Mapped registers_;
};

// The published HLS design: four blocks, each with its own control register.
class HlsControl : public Control {
 public:
  explicit HlsControl(RegisterBlocks blocks) : blocks_(std::move(blocks)) {}

  void check(const vta_geometry&, int) override {
    for (const auto& [name, registers] : blocks_) alive(registers.word(0));
    if (!fetched()) throw FileError("the fetch unit still has instructions of a run that nobody waits for");
  }

  void start(const Launch& code, const Launch& nothing) override {
    // Done stays up from the last run until the compute unit executes its first instruction of this one. It is taken down by a
    // stream without FINISH first: a look that comes too early would otherwise take that run's for this one's.
    if (done()) {
      launch(nothing);
      await_taken_down();
    }
    launch(code);
  }

  bool done() override { return alive(block("compute").word(kDone)) == 1; }
  void check_errors() override {}  // it reports none

  std::string halted() override {
    std::string text = "control registers:";
    for (const auto& [name, registers] : blocks_) text += " " + name + " " + hexadecimal(registers.word(0));
    return text;
  }

 private:
  static constexpr size_t kCount = 0x10, kAddress = 0x18, kDone = 0x18;
  static constexpr uint32_t kStart = 0x01, kStartAgain = 0x81, kIdle = 0x04;

  Mapped& block(const char* name) { return blocks_.at(name); }
  bool fetched() { return (alive(block("fetch").word(0)) & kIdle) != 0; }

  void launch(const Launch& code) {
    block("fetch").set_word(kCount, code.count);
    block("fetch").set_word(kAddress, code.address);
    for (const size_t offset : {size_t{0x10}, size_t{0x18}}) block("load").set_word(offset, 0);
    for (const size_t offset : {size_t{0x20}, size_t{0x28}}) block("compute").set_word(offset, 0);
    block("store").set_word(0x10, 0);
    for (const char* name : {"load", "compute", "store"}) block(name).set_word(0, kStartAgain);
    block("fetch").set_word(0, kStart);
  }

  void await_taken_down() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (done() || !fetched()) {
      if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("time limit: taking down done was not done after 1 s");
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
  }

  RegisterBlocks blocks_;
};

}  // namespace

std::unique_ptr<Control> make_control(const std::string& registers, RegisterBlocks blocks) {
  if (registers == "hls") return std::make_unique<HlsControl>(std::move(blocks));
  Mapped core = std::move(blocks.at("core"));
  if (registers == "core") return std::make_unique<CoreControl>(std::move(core));
  return std::make_unique<VcrControl>(std::move(core));
}

}  // namespace vta
