/* The verifier's native part: one linear pass over a program that decides token order, races and bounds. */
#ifndef VTA_VERIFY_H
#define VTA_VERIFY_H

#include "vta_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One decoded instruction: the fields of vta.isa.INSTRUCTION_DTYPE, in its order. */
typedef struct {
  int64_t opcode, pop_prev, pop_next, push_prev, push_next;
  int64_t memory_type, sram_base, dram_base, y_size, x_size, x_stride;
  int64_t y_pad_0, y_pad_1, x_pad_0, x_pad_1;
  int64_t reset, uop_bgn, uop_end, iter_out, iter_in;
  int64_t dst_factor_out, dst_factor_in, src_factor_out, src_factor_in, wgt_factor_out, wgt_factor_in;
  int64_t alu_opcode, use_imm, imm;
} vta_verify_instruction;

/* What the target allows, and how many tokens a queue holds. */
typedef struct {
  int32_t uop_depth;
  int32_t shift_min;
  int32_t shift_max;
  int32_t register_shift_left;
  int32_t immediate_reads_src;
  int32_t store_reads_acc;
  int32_t uop_dst_distance;
  int32_t alu_forwarding;
  int32_t loops_flattened;
  int32_t token_limit;
  int32_t fetch_queue_depth;
} vta_verify_rules;

/* A range of DRAM, in bytes. */
typedef struct {
  uint64_t start;
  uint64_t nbytes;
  int32_t initialized; /* readable before any store */
  int32_t writable;    /* stores may hit it */
  int32_t constant;    /* its contents are the same at every run, so values read from it are known */
  int32_t output;      /* the program must write all of it */
} vta_verify_range;

/* Contents of DRAM at the start. */
typedef struct {
  uint64_t start;
  uint64_t nbytes;
  const uint8_t *data;
} vta_verify_contents;

/* What is wrong and where: `kind` indexes the table in vta/isa/explain.py. Unused members are -1. */
typedef struct {
  int32_t kind;
  int32_t unit;
  int64_t instruction;
  int32_t memory;     /* memory type, or -1 for DRAM and where there is none */
  int32_t queue;
  int64_t first;      /* first row or byte address */
  int64_t count;      /* rows, bytes or tokens */
  int64_t other;      /* the other instruction of a race; the pusher of a token */
  int64_t detail;     /* a micro-op, a shift amount, a limit: see the kind */
} vta_verify_finding;

typedef struct {
  const vta_verify_instruction *instructions;
  int64_t instruction_count;
  const vta_verify_range *ranges; /* may overlap */
  int64_t range_count;
  const vta_verify_contents *contents; /* must not overlap */
  int64_t contents_count;
  int64_t tokens_before[4]; /* load->compute, compute->load, compute->store, store->compute */
} vta_verify_program;

/* Checks a program whose fields are all in range. Writes at most `capacity` findings and returns how many. */
int64_t vta_verify(const vta_geometry *geometry, const vta_verify_rules *rules, const vta_verify_program *program,
                   vta_verify_finding *findings, int64_t capacity);

#ifdef __cplusplus
}
#endif

#endif
