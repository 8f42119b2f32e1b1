/* The cycle engine: when each instruction of a stream is executed, without its data. A handle is not thread-safe; different
   handles are independent. */
#ifndef VTA_CYCLE_H
#define VTA_CYCLE_H

#include "vta_common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vta_cycle vta_cycle;

/* Whose timing: the contract in TIMING.md, or approximations of the published designs. */
enum { VTA_PRESET_RTL = 0, VTA_PRESET_CHISEL = 1, VTA_PRESET_HLS = 2 };

enum { VTA_UNIT_LOAD = 0, VTA_UNIT_COMPUTE = 1, VTA_UNIT_STORE = 2, VTA_UNIT_FETCH = 3 };

/* What a unit does in a cycle. A cycle that is none of these is idle. */
enum { VTA_BUSY = 0, VTA_WAIT_TOKEN = 1, VTA_WAIT_MEMORY = 2 };

/* The parameters of TIMING.md, by the same names. */
typedef struct {
  uint32_t bus_bits;
  uint32_t burst_beats;
  uint32_t read_latency;
  uint32_t write_latency;
  uint32_t beat_interval;
  uint32_t queue_depth;
  uint32_t load_fifo;
  uint32_t acc_fifo;
  uint32_t fetch_fifo;
  uint32_t load_ahead;
  uint32_t store_ahead;
  uint32_t token_limit;
} vta_timing;

typedef struct {
  const uint8_t *stream; /* 16 bytes an instruction */
  uint64_t first;        /* runs instructions [first, last) */
  uint64_t last;
  uint64_t stream_address;       /* where instruction `first` lies in device memory; a multiple of 16 */
  const int32_t *operator_index; /* per instruction of the stream, -1 for none; or NULL */
  uint32_t operator_count;
  int32_t timeline;              /* 1: keep intervals */
  double limit_seconds;          /* a run that takes longer fails; 0: none */
} vta_cycle_job;

typedef struct {
  uint64_t busy;
  uint64_t token;
  uint64_t memory;
  uint64_t idle;
} vta_unit_cycles;

/* Cycles in which things happened, -1 if they did not; and how many cycles its unit spent on the instruction. */
typedef struct {
  int64_t dispatched;
  int64_t accepted;
  int64_t completed;
  int64_t busy;
  int64_t memory;
  int64_t token;
} vta_instruction_cycles;

/* Cycles [start, end) of one unit. */
typedef struct {
  uint64_t start;
  uint64_t end;
  uint64_t instruction; /* index in the stream */
  uint32_t unit;
  uint32_t kind;
} vta_interval;

typedef struct {
  uint64_t cycles;
  uint64_t read_beats;
  uint64_t write_beats;
  vta_unit_cycles units[4]; /* by VTA_UNIT_* */
  uint64_t tokens[4];       /* left over */
  uint64_t intervals;       /* how many the timeline has */
} vta_cycle_result;

/* Returns NULL and writes a message if the geometry does not encode. The caller has checked the parameters. */
vta_cycle *vta_cycle_create(const vta_geometry *geometry, const vta_timing *timing, int32_t preset, char *error,
                            size_t error_bytes);
void vta_cycle_destroy(vta_cycle *engine);

/* Times a stream that starts with `tokens`. Returns VTA_DONE, VTA_FAILED, or VTA_TIMED_OUT at the limit of the job. A stream
   without FINISH ends when its last instruction completes. */
int32_t vta_cycle_run(vta_cycle *engine, const vta_cycle_job *job, const uint64_t tokens[4]);

/* Text of the last failure. */
const char *vta_cycle_error(const vta_cycle *engine);

/* Of the last run that was done. */
void vta_cycle_get_result(const vta_cycle *engine, vta_cycle_result *result);

/* What the functional engine counts: of one operator, or of all instructions if `operator_index` is -1. */
void vta_cycle_get_counters(const vta_cycle *engine, int32_t operator_index, vta_functional_counters *counters);

/* Copies one entry for each instruction run. */
void vta_cycle_get_instructions(const vta_cycle *engine, vta_instruction_cycles *instructions);

/* Copies the timeline, in no particular order. */
void vta_cycle_get_intervals(const vta_cycle *engine, vta_interval *intervals);

#ifdef __cplusplus
}
#endif

#endif
