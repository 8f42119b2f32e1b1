/* Places dependency tokens in a stream whose accesses to shared memories are known. */
#ifndef VTA_PLAN_H
#define VTA_PLAN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { VTA_PLAN_SPACES = 4 };

/* Rows of a memory that an instruction reads or writes: `runs` runs of `length`, `stride` apart. */
typedef struct {
  int64_t space;
  int64_t writes;
  int64_t start;
  int64_t length;
  int64_t runs;
  int64_t stride;
} vta_plan_access;

typedef struct {
  const int8_t *units; /* VTA_UNIT_LOAD, VTA_UNIT_COMPUTE or VTA_UNIT_STORE of each instruction */
  const int64_t *access_ends; /* accesses of instruction i end before access_ends[i] */
  const vta_plan_access *accesses;
  int64_t instruction_count;
  int64_t rows[4]; /* of each memory */
  int32_t serial;  /* 1: every instruction waits for the one before it */
} vta_plan_job;

/* An instruction of the result: its index in the stream, or -1 for one that only carries tokens. */
typedef struct {
  int64_t source;
  int64_t pop_prev;
  int64_t pop_next;
  int64_t push_prev;
  int64_t push_next;
} vta_plan_entry;

/* Writes at most 2 * instruction_count + 2 entries, the last for FINISH. Returns how many, or -1 - a for an access a that
   leaves its memory. */
int64_t vta_plan_tokens(const vta_plan_job *job, vta_plan_entry *entries);

#ifdef __cplusplus
}
#endif

#endif
