// Clocks the Verilated core, moves its AXI signals to and from the memory model, and exports the C interface.
#include "harness.h"

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>

#include "Vvta.h"
#include "memory_model.h"
#include "verilated.h"
#if VM_TRACE_FST
#include "verilated_fst_c.h"
using Trace = VerilatedFstC;
#elif VM_TRACE_VCD
#include "verilated_vcd_c.h"
using Trace = VerilatedVcdC;
#endif

#ifndef VTA_BUS_BYTES
#error "VTA_BUS_BYTES is the width of the memory bus"
#endif

double sc_time_stamp() { return 0; }

namespace vta::rtl {
namespace {

constexpr uint64_t kBusBytes = VTA_BUS_BYTES;
constexpr uint32_t kLogBusBytes = __builtin_ctz(VTA_BUS_BYTES);
constexpr int kResetCycles = 4;
constexpr int kRegisterCycles = 1000;
constexpr uint32_t kBurstIncrement = 1;

// Ports of up to 64 bits are integers, wider ones arrays of 32-bit words.
template <typename Port>
void put(Port& port, const uint8_t* bytes) {
  if constexpr (std::is_integral_v<Port>) {
    std::memcpy(&port, bytes, kBusBytes);
  } else {
    std::memcpy(&port[0], bytes, kBusBytes);
  }
}

template <typename Port>
void get(const Port& port, uint8_t* bytes) {
  if constexpr (std::is_integral_v<Port>) {
    std::memcpy(bytes, &port, kBusBytes);
  } else {
    std::memcpy(bytes, &port[0], kBusBytes);
  }
}

}  // namespace

class Harness {
 public:
  Harness(uint8_t* memory, uint64_t bytes, const vta_rtl_memory& model)
      : core_(&context_), memory_(memory, bytes, model, kBusBytes) {
    reset();
  }

  ~Harness() {
    trace(nullptr);
    core_.final();
  }

  void reset() {
    core_.s_axil_awvalid = core_.s_axil_wvalid = core_.s_axil_bready = 0;
    core_.s_axil_arvalid = core_.s_axil_rready = 0;
    core_.rst = 1;
    memory_.reset();
    for (int count = 0; count < kResetCycles; ++count) step();
    core_.rst = 0;
    memory_.reset();
    seen_ = {};
  }

  bool trace(const char* path) {
#if VM_TRACE_FST || VM_TRACE_VCD
    if (trace_) {
      trace_->close();
      trace_.reset();
    }
    if (path == nullptr) return true;
    context_.traceEverOn(true);
    trace_ = std::make_unique<Trace>();
    core_.trace(trace_.get(), 99);
    trace_->open(path);
    if (!trace_->isOpen()) throw std::runtime_error(std::string("cannot write ") + path);
    return true;
#else
    return path == nullptr;
#endif
  }

  void write(uint32_t offset, uint32_t value) {
    core_.s_axil_awaddr = offset;
    core_.s_axil_wdata = value;
    core_.s_axil_wstrb = 15;
    core_.s_axil_awvalid = core_.s_axil_wvalid = core_.s_axil_bready = 1;
    for (int count = 0; count < kRegisterCycles; ++count) {
      step();
      const bool address = lite_.awready, data = lite_.wready, response = lite_.bvalid;
      if (address) core_.s_axil_awvalid = 0;
      if (data) core_.s_axil_wvalid = 0;
      if (response) {
        core_.s_axil_bready = 0;
        return;
      }
    }
    throw std::runtime_error("a register write was not answered");
  }

  uint32_t read(uint32_t offset) {
    core_.s_axil_araddr = offset;
    core_.s_axil_arvalid = core_.s_axil_rready = 1;
    for (int count = 0; count < kRegisterCycles; ++count) {
      step();
      if (lite_.arready) core_.s_axil_arvalid = 0;
      if (lite_.rvalid) {
        core_.s_axil_rready = 0;
        return lite_.rdata;
      }
    }
    throw std::runtime_error("a register read was not answered");
  }

  // Returns whether the interrupt was raised.
  bool run(uint64_t cycles) {
    while (cycles-- > 0) {
      step();
      if (core_.irq) return true;
    }
    return false;
  }

  const vta_rtl_observed& seen() const { return seen_; }

  void forget() {
    const uint64_t cycles = seen_.cycles;
    seen_ = {};
    seen_.cycles = cycles;
  }

  std::string error;

 private:
  // One clock cycle: inputs, settle, look at the handshakes of this cycle, then the rising edge.
  void step() {
    const bool beat = drive_read(), response = drive_response();
    core_.m_axi_arready = !memory_.withhold();
    core_.m_axi_awready = !memory_.withhold();
    core_.m_axi_wready = !memory_.withhold();
    core_.clk = 0;
    core_.eval();
    dump(0);
    if (!core_.rst) {
      look_at_read(beat);
      look_at_write(response);
    }
    lite_ = {static_cast<bool>(core_.s_axil_awvalid && core_.s_axil_awready),
             static_cast<bool>(core_.s_axil_wvalid && core_.s_axil_wready),
             static_cast<bool>(core_.s_axil_bvalid && core_.s_axil_bready),
             static_cast<bool>(core_.s_axil_arvalid && core_.s_axil_arready),
             static_cast<bool>(core_.s_axil_rvalid && core_.s_axil_rready), core_.s_axil_rdata};
    core_.clk = 1;
    core_.eval();
    dump(1);
    ++seen_.cycles;
    if (core_.irq && seen_.interrupt == 0) seen_.interrupt = seen_.cycles;
  }

  bool drive_read() {
    const uint8_t* data = memory_.offered(seen_.cycles);
    core_.m_axi_rvalid = data != nullptr;
    if (data == nullptr) return false;
    put(core_.m_axi_rdata, data);
    core_.m_axi_rid = memory_.offered_id();
    core_.m_axi_rlast = memory_.offered_last();
    core_.m_axi_rresp = 0;
    return true;
  }

  bool drive_response() {
    const bool response = memory_.responds(seen_.cycles);
    core_.m_axi_bvalid = response;
    core_.m_axi_bresp = 0;
    return response;
  }

  void look_at_read(bool beat) {
    if (beat && core_.m_axi_rready) {
      memory_.take(seen_.cycles);
      ++seen_.read_beats;
      seen_.last_read_beat = seen_.cycles;
    } else if (beat && !memory_.stalls()) {
      throw std::runtime_error("the core does not take a read beat: it asked for more than it has room for");
    }
    if (!core_.m_axi_arvalid) return;
    if (seen_.first_request == 0) seen_.first_request = seen_.cycles;
    if (!core_.m_axi_arready) return;
    require(core_.m_axi_arsize == kLogBusBytes && core_.m_axi_arburst == kBurstIncrement, "read");
    memory_.grant({core_.m_axi_araddr, core_.m_axi_arlen + 1ull, core_.m_axi_arid}, seen_.cycles);
    ++seen_.read_bursts;
  }

  void look_at_write(bool response) {
    if (response && core_.m_axi_bready) {
      memory_.take_response();
      seen_.last_response = seen_.cycles;
    } else if (response && !memory_.stalls()) {
      throw std::runtime_error("the core does not take a write response");
    }
    if (core_.m_axi_awvalid && core_.m_axi_awready) {
      require(core_.m_axi_awsize == kLogBusBytes && core_.m_axi_awburst == kBurstIncrement, "write");
      memory_.address_write({core_.m_axi_awaddr, core_.m_axi_awlen + 1ull, 0});
      ++seen_.write_bursts;
    }
    if (core_.m_axi_wvalid && core_.m_axi_wready) {
      uint8_t bytes[kBusBytes];
      get(core_.m_axi_wdata, bytes);
      const uint64_t strobes = core_.m_axi_wstrb;
      memory_.write_beat(bytes, strobes, core_.m_axi_wlast, seen_.cycles);
      ++seen_.write_beats;
      seen_.write_bytes += __builtin_popcountll(strobes);
      seen_.last_write_beat = seen_.cycles;
    }
    memory_.gather();
  }

  static void require(bool condition, const char* what) {
    if (condition) return;
    throw std::runtime_error(std::string("a ") + what + " burst is not of the bus width or not incrementing");
  }

  void dump(int edge) {
#if VM_TRACE_FST || VM_TRACE_VCD
    if (trace_) trace_->dump(2 * time_ + edge);
    time_ += edge;
#else
    (void)edge;
#endif
  }

  struct Lite {
    bool awready, wready, bvalid, arready, rvalid;
    uint32_t rdata;
  };

  VerilatedContext context_;
  Vvta core_;
  MemoryModel memory_;
  vta_rtl_observed seen_{};
  Lite lite_{};
#if VM_TRACE_FST || VM_TRACE_VCD
  std::unique_ptr<Trace> trace_;
  uint64_t time_ = 0;
#endif
};

namespace {

template <typename Body>
int guarded(Harness& harness, Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    harness.error = "cycle " + std::to_string(harness.seen().cycles) + " from reset: " + error.what();
    return VTA_RTL_FAILED;
  }
}

Harness& of(vta_rtl* handle) { return *reinterpret_cast<Harness*>(handle); }
const Harness& of(const vta_rtl* handle) { return *reinterpret_cast<const Harness*>(handle); }

}  // namespace
}  // namespace vta::rtl

#define EXPORT extern "C" __attribute__((visibility("default")))

using vta::rtl::guarded;
using vta::rtl::Harness;
using vta::rtl::of;

EXPORT int vta_rtl_abi(void) { return VTA_RTL_ABI; }

EXPORT vta_rtl* vta_rtl_create(uint8_t* memory, uint64_t bytes, const vta_rtl_memory* model) {
  try {
    return reinterpret_cast<vta_rtl*>(new Harness(memory, bytes, *model));
  } catch (const std::exception&) {
    return nullptr;
  }
}

EXPORT void vta_rtl_destroy(vta_rtl* handle) { delete &of(handle); }

EXPORT int vta_rtl_reset(vta_rtl* handle) {
  return guarded(of(handle), [&] {
    of(handle).reset();
    return VTA_RTL_DONE;
  });
}

EXPORT int vta_rtl_trace(vta_rtl* handle, const char* path) {
  return guarded(of(handle), [&] {
    if (!of(handle).trace(path)) throw std::runtime_error("this library was built without traces");
    return VTA_RTL_DONE;
  });
}

EXPORT int vta_rtl_write(vta_rtl* handle, uint32_t offset, uint32_t value) {
  return guarded(of(handle), [&] {
    of(handle).write(offset, value);
    return VTA_RTL_DONE;
  });
}

EXPORT int vta_rtl_read(vta_rtl* handle, uint32_t offset, uint32_t* value) {
  return guarded(of(handle), [&] {
    *value = of(handle).read(offset);
    return VTA_RTL_DONE;
  });
}

EXPORT int vta_rtl_run(vta_rtl* handle, uint64_t cycles) {
  return guarded(of(handle), [&] { return of(handle).run(cycles) ? VTA_RTL_DONE : VTA_RTL_MORE; });
}

EXPORT void vta_rtl_observe(const vta_rtl* handle, vta_rtl_observed* seen) { *seen = of(handle).seen(); }

EXPORT void vta_rtl_forget(vta_rtl* handle) { of(handle).forget(); }

EXPORT const char* vta_rtl_error(const vta_rtl* handle) { return of(handle).error.c_str(); }
