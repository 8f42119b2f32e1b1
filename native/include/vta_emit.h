/* Emits the instructions of one tile operator, with tokens and addresses but without data: enough to time it. They are those of
   vta/codegen/templates/products.py, to the bit. */
#ifndef VTA_EMIT_H
#define VTA_EMIT_H

#include "vta_common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int64_t source; /* index of the tensor that it reads */
  int64_t source_blocks;
  int64_t source_height;
  int64_t source_width;
  int64_t source_address; /* arena element */
  int64_t weight_blocks;  /* output blocks that there are weights for */
  int64_t diagonal;
  int64_t window; /* one weight block serves all kernel positions */
  int64_t kernel[2];
  int64_t strides[2];
  int64_t padding[2];
  int64_t dilation[2];
  int64_t source_dilation[2];
} vta_emit_term;

/* Terms up to `term_end` are added after a left shift. */
typedef struct {
  int64_t shift;
  int64_t term_end;
} vta_emit_level;

enum { VTA_STEP_IMMEDIATE = 0, VTA_STEP_VECTOR = 1, VTA_STEP_TENSOR = 2 };

typedef struct {
  int64_t kind;
  int64_t op;
  int64_t imm;
  int64_t level_end; /* of a tensor step: its levels, after those before it, end here */
} vta_emit_step;

typedef struct {
  int64_t batch;
  int64_t blocks;
  int64_t height;
  int64_t width;
  int64_t planes;
  int64_t address;
  const vta_emit_term *terms;
  const vta_emit_level *levels;
  const vta_emit_step *steps;
  int64_t level_end; /* levels of the accumulator itself come first and end here */
  int64_t step_count;
  int64_t preload; /* accumulators start from a vector, in place of zero */
} vta_emit_operator;

/* The fields of vta.schedule.schedule.Schedule and Resources. */
typedef struct {
  int64_t tile_co;
  int64_t tile_h;
  int64_t tile_w;
  int64_t tile_ci;
  int64_t tile_kh;
  int64_t tile_kw;
  int64_t inp_slots;
  int64_t wgt_slots;
  int64_t acc_slots;
  int64_t weights_outer;
  int64_t skip_padding;
  int64_t inp_slot;
  int64_t wgt_slot;
  int64_t wgt_fixed;
  int64_t acc_tile;
  int64_t acc_slot;
  int64_t vectors;
  int64_t vectors_whole;
} vta_emit_schedule;

typedef struct {
  vta_geometry geometry;
  int64_t uop_depth;
  int64_t uop_dst_distance;
  int64_t arena; /* elements */
  int64_t base;  /* byte address of the image */
} vta_emit_target;

typedef struct vta_emitted vta_emitted;

/* NULL if something does not fit; the template in Python says what. */
vta_emitted *vta_emit_tiles(const vta_emit_operator *op, const vta_emit_schedule *schedule, const vta_emit_target *target);
int64_t vta_emitted_count(const vta_emitted *emitted);
/* Writes all instructions, 16 bytes each. */
void vta_emitted_write(const vta_emitted *emitted, uint8_t *stream);
void vta_emitted_free(vta_emitted *emitted);

/* The same before tokens are placed and addresses resolved, to be joined with what other operators emit. */
typedef struct vta_emitted_part vta_emitted_part;

typedef struct {
  int64_t instructions;
  int64_t accesses;
  int64_t sequences;
  int64_t uops;
  int64_t constants;
} vta_part_sizes;

typedef struct {
  uint64_t *words;        /* two an instruction; DRAM addresses count from the start of their segment */
  int8_t *units;          /* of each instruction */
  int8_t *segments;       /* of each instruction, as vta.codegen.stream.Segment */
  int64_t *access_ends;   /* accesses of instruction i end before access_ends[i] */
  int64_t *accesses;      /* each a vta_plan_access */
  int64_t *sequence_ends; /* micro-ops of sequence i, in the order of first use, end before sequence_ends[i] */
  int64_t *uops;          /* rows of dst, src and wgt of each */
  int64_t *constants;     /* first byte, bytes, and bytes of an element of each */
} vta_part;

/* NULL if something does not fit. */
vta_emitted_part *vta_emit_part(const vta_emit_operator *op, const vta_emit_schedule *schedule, const vta_emit_target *target);
vta_part_sizes vta_emitted_part_sizes(vta_emitted_part *emitted);
void vta_emitted_part_copy(const vta_emitted_part *emitted, const vta_part *part);
void vta_emitted_part_free(vta_emitted_part *emitted);

#ifdef __cplusplus
}
#endif

#endif
