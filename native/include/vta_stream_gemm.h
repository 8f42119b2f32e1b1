/* The template of operators that multiply: convolution, dense, sums over windows, copies and element-wise steps. */
#ifndef VTA_STREAM_GEMM_H
#define VTA_STREAM_GEMM_H

#include "vta_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sum of matrix products over a sliding window: the fields of vta.tile's GemmTerm. */
typedef struct {
  vta_tensor source;
  int64_t source_number; /* equal for terms that read the same tensor */
  int64_t weight_blocks; /* output blocks that there are weights for */
  int64_t diagonal;
  int64_t window;        /* one weight block serves all kernel positions */
  int64_t taps;          /* columns that one product covers: 1, or 3 for DEPTHWISE, of a diagonal term */
  int64_t is_transfer;   /* the products only bring the source into the accumulator */
  int64_t kernel[2];
  int64_t strides[2];
  int64_t padding[2];
  int64_t dilation[2];
  int64_t source_dilation[2];
  int64_t computed;      /* 1: the weights are `weights`, with an input channel in each lane, an output channel in each column */
  vta_tensor weights;
  const uint8_t *nonzero; /* sparse: of each weight block [out][in][kernel row][kernel column]; NULL: all are multiplied with */
} vta_gemm_term;

/* Terms that are added to the accumulator after it has been shifted left; those of a digit follow the terms of the one before. */
typedef struct {
  int64_t shift;
  int64_t term_end;
} vta_radix_digit;

enum {
  VTA_STEP_IMMEDIATE = 0,
  VTA_STEP_VECTOR = 1, /* one value per channel, for each of phases[0] x phases[1] places of the output */
  VTA_STEP_TENSOR = 2, /* of digits that end at `end`; the steps up to `step_end` are applied to them first */
  VTA_STEP_BRANCH = 3, /* a copy of the tile, to which the steps up to `end` are applied */
  VTA_STEP_JOIN = 4,   /* the copy of the branch of the same slot */
  VTA_STEP_REQUANTIZE = 5 /* REQUANTIZE with the flags `imm`; takes three vectors */
};

typedef struct {
  int64_t kind;
  int64_t op;
  int64_t imm;
  int64_t phases[2];
  int64_t end;
  int64_t step_end;
  int64_t slot;
  int64_t copy_elided; /* the copy can be made by a maximum with what the branch left */
} vta_epilogue_step;

typedef struct {
  vta_tensor output;
  vta_tensor stored; /* the tensor in memory: the output, with what lies around it */
  int64_t padded;    /* 1: rows and columns of `pad_value` lie around the output */
  int64_t pad_top;
  int64_t pad_left;
  int64_t pad_value;
  const vta_gemm_term *terms;
  const vta_radix_digit *digits;
  const vta_epilogue_step *steps;
  int64_t term_count;
  int64_t digit_end; /* digits of the accumulator itself come first and end here; then those of steps, in order */
  int64_t step_count;
  int64_t accumulator_init; /* 1: accumulators start from the first vector, in place of zero */
  int64_t leaves_zeros;     /* 1: the last step leaves zeros, so that a tile needs no reset after another */
  int64_t looks_up;         /* 1: a table is loaded first */
} vta_gemm_operator;

/* The fields of vta.schedule's Schedule and Resources. */
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
  int64_t inp_base; /* the first rows that it takes of each memory */
  int64_t wgt_base;
  int64_t acc_base;
  int64_t padding_base; /* the first accumulator row that holds the padding of its output */
  int64_t interleaved; /* 1: tiles of another operator run between those of this one */
} vta_gemm_schedule;

/* Emits the whole operator. */
int32_t vta_stream_gemm_operator(vta_stream *stream, const vta_gemm_operator *op, const vta_gemm_schedule *schedule);

#ifdef __cplusplus
}
#endif

#endif
