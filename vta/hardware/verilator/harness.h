// The C interface of a Verilator build of the core: one library per core, loaded with dlopen.
//
// The caller owns the device memory and drives the core's registers; the harness is the memory behind the core's AXI
// master as native/TIMING.md describes it, and counts what it sees on the bus.
#ifndef VTA_HARDWARE_VERILATOR_HARNESS_H
#define VTA_HARDWARE_VERILATOR_HARNESS_H

#include <stdint.h>

#define VTA_RTL_ABI 2

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vta_rtl vta_rtl;

// The memory around the core. With stall_permille = 0 it keeps the timing contract; otherwise it withholds each
// handshake with that probability, in thousandths, drawn from stall_seed, and reads of different ids overtake each other.
typedef struct {
  uint64_t read_latency;
  uint64_t write_latency;
  uint64_t beat_interval;
  uint64_t burst_beats;
  uint64_t stall_permille;
  uint64_t stall_seed;
} vta_rtl_memory;

// Counted by the harness, not by the core. Cycles count from the reset; events that have not happened have cycle 0.
typedef struct {
  uint64_t cycles;
  uint64_t first_request;
  uint64_t interrupt;
  uint64_t last_read_beat;
  uint64_t last_write_beat;
  uint64_t last_response;
  uint64_t read_bursts;
  uint64_t read_beats;
  uint64_t write_bursts;
  uint64_t write_beats;
  uint64_t write_bytes;
} vta_rtl_observed;

enum { VTA_RTL_MORE = 0, VTA_RTL_DONE = 1, VTA_RTL_FAILED = 2 };

int vta_rtl_abi(void);
// A core in reset state with `bytes` of memory at `memory`, which must outlive it. NULL if out of memory.
vta_rtl* vta_rtl_create(uint8_t* memory, uint64_t bytes, const vta_rtl_memory* model);
void vta_rtl_destroy(vta_rtl*);
// Resets core, bus and observations.
int vta_rtl_reset(vta_rtl*);
// Writes a VCD or FST file from now on; VTA_RTL_FAILED if the library was built without. NULL ends it.
int vta_rtl_trace(vta_rtl*, const char* path);
// One AXI-Lite transaction.
int vta_rtl_write(vta_rtl*, uint32_t offset, uint32_t value);
int vta_rtl_read(vta_rtl*, uint32_t offset, uint32_t* value);
// Runs until the interrupt is raised (DONE), something is wrong (FAILED) or `cycles` have passed (MORE).
int vta_rtl_run(vta_rtl*, uint64_t cycles);
void vta_rtl_observe(const vta_rtl*, vta_rtl_observed*);
// Forgets what was observed, but for the number of cycles.
void vta_rtl_forget(vta_rtl*);
// What went wrong in the last call that failed.
const char* vta_rtl_error(const vta_rtl*);

#ifdef __cplusplus
}
#endif

#endif
