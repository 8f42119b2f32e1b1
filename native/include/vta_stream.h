/* A stream of instructions while it is being written: what each reads and writes, the micro-ops on chip, and where constants lie.

   Calls that return int32_t give VTA_DONE, or VTA_FAILED with a message in vta_stream_error, or VTA_UOPS_OVERFLOW. After a
   failure the stream can only be read and freed. */
#ifndef VTA_STREAM_H
#define VTA_STREAM_H

#include "vta_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The micro-op sequences do not all fit on chip together, and vta_stream_target.gathers_uops asks for it. */
enum { VTA_UOPS_OVERFLOW = 2 };

typedef struct {
  vta_geometry geometry;
  int64_t uop_depth;
  int64_t uop_dst_distance; /* micro-ops between two of the same dst */
  int32_t gathers_uops;     /* all sequences have to be on chip together */
  int32_t groups_uops;      /* each operator starts with no micro-op on chip, and loads all of its own at once if they fit */
} vta_stream_target;

typedef struct vta_stream vta_stream;

/* NULL, with a message in `error`, if the geometry does not encode. */
vta_stream *vta_stream_create(const vta_stream_target *target, char *error, size_t error_bytes);
void vta_stream_free(vta_stream *stream);
const char *vta_stream_error(const vta_stream *stream);

/* Instructions belong to `op`, and products that only move data to `transfers`, until vta_stream_end_operator. */
void vta_stream_begin_operator(vta_stream *stream, int32_t op, int32_t transfers);
int32_t vta_stream_end_operator(vta_stream *stream);
void vta_stream_set_tile(vta_stream *stream, int32_t tile);
/* Replaces the loads of micro-ops by one at the start, if all fit on chip together. Writes 1 if it did, else 0. */
int32_t vta_stream_gather_uop_loads(vta_stream *stream, int32_t *gathered);

/* Keeps the instructions of these numbers, in this order. */
void vta_stream_select(vta_stream *stream, const int64_t *order, int64_t count);
/* Drops resets of accumulator rows that are zero anyway, and shortens others; all micro-ops have to be on chip together. Writes the
   numbers of those dropped, which `needless` has room for, and returns how many they are. */
int64_t vta_stream_trim_resets(vta_stream *stream, int64_t *needless);

/* Segments of the DRAM image. */
enum { VTA_SEGMENT_NONE = 0, VTA_SEGMENT_CONSTANTS = 1, VTA_SEGMENT_UOPS = 2, VTA_SEGMENT_ARENA = 3 };

/* Sizes and bases in elements of `memory`; dram counts from the start of the segment. */
typedef struct {
  int64_t memory;
  int64_t sram;
  int64_t segment;
  int64_t dram;
  int64_t x_size;
  int64_t y_size;
  int64_t x_stride; /* 0: x_size */
  int64_t top;
  int64_t left;
  int64_t bottom;
  int64_t right;
} vta_stream_load_job;

int32_t vta_stream_load(vta_stream *stream, const vta_stream_load_job *job);
int32_t vta_stream_store(vta_stream *stream, int64_t sram, int64_t dram, int64_t x_size, int64_t y_size, int64_t x_stride);

/* A loop of the hardware or of a nest: trip count, and what one iteration adds to the dst, src and wgt rows. */
typedef struct {
  int64_t extent;
  int64_t step[3];
} vta_loop;

/* Micro-ops are rows of dst, src and wgt. REQUANTIZE takes its flags as `imm`. */
int32_t vta_stream_gemm(vta_stream *stream, const int64_t *uops, int64_t uop_count, const vta_loop loops[2], int32_t reset,
                        int32_t is_transfer);
int32_t vta_stream_alu(vta_stream *stream, int64_t op, const int64_t *uops, int64_t uop_count, const vta_loop loops[2],
                       int32_t use_imm, int64_t imm);
/* Visit every point of a nest of loops from the rows `base` on, in as many instructions as it takes. */
int32_t vta_stream_gemm_nest(vta_stream *stream, const vta_loop *loops, int64_t loop_count, const int64_t base[3],
                             int32_t is_transfer);
int32_t vta_stream_alu_nest(vta_stream *stream, int64_t op, const vta_loop *loops, int64_t loop_count, const int64_t base[3]);

/* A packed int8 tensor, [batch][blocks][height][width] elements, whose memory starts at arena element `address`. */
typedef struct {
  const char *name; /* for messages */
  int64_t batch;
  int64_t blocks;
  int64_t height;
  int64_t width;
  int64_t planes;
  int64_t memory_blocks; /* of the tensor whose memory holds it */
  int64_t first_block;   /* in that memory */
  int64_t address;
} vta_tensor;

/* Part of a tensor; it may reach over the edges. */
typedef struct {
  int64_t batch;
  int64_t block;
  int64_t row;
  int64_t column;
  int64_t blocks;
  int64_t height;
  int64_t width;
} vta_box;

/* Bring a box that overlaps the tensor into input rows from `sram` on, with zeros around the tensor. */
int32_t vta_stream_load_window(vta_stream *stream, const vta_tensor *tensor, const vta_box *box, int64_t sram);
/* Store output rows from `sram` on, which hold a box of the tensor densely. */
int32_t vta_stream_store_tile(vta_stream *stream, const vta_tensor *tensor, const vta_box *box, int64_t sram);

/* What a constant holds: GIVEN is known to the caller who added it, the others follow from an operator. */
enum { VTA_CONSTANT_GIVEN = 0, VTA_CONSTANT_VECTOR = 1, VTA_CONSTANT_WEIGHTS = 2, VTA_CONSTANT_TABLE = 3 };

typedef struct {
  int64_t first; /* byte from the start of the constants */
  int64_t nbytes;
  int64_t elem; /* bytes of an element, which `first` is a multiple of */
  int64_t kind;
  int64_t number; /* of the vector or the term */
  int64_t out;    /* the weight blocks [out][in][kernel row][kernel column] */
  int64_t out_count;
  int64_t in;
  int64_t in_count;
  int64_t kh;
  int64_t kh_count;
  int64_t kw;
  int64_t kw_count;
  int64_t kept; /* 1: of these only the ones that are not zero */
} vta_constant;

/* Makes room for a constant of `nbytes` bytes. Returns the index of its first element of `memory`. */
int64_t vta_stream_add_constant(vta_stream *stream, int32_t memory, int64_t nbytes);

typedef struct {
  int64_t instructions;
  int64_t accesses;
  int64_t sequences;
  int64_t uops;
  int64_t constants;
  int64_t constants_bytes;
  int64_t constants_at; /* byte of the image at which constants begin, after the micro-ops */
  int64_t arena_at;     /* and the arena, after the constants */
} vta_stream_sizes;

vta_stream_sizes vta_stream_get_sizes(const vta_stream *stream);

/* Where to copy what a stream has; NULL for what is not wanted. */
typedef struct {
  int64_t *fields;        /* of each instruction, as vta.isa.INSTRUCTION_DTYPE; addresses count from the start of their segment */
  uint64_t *words;        /* the same encoded, two an instruction */
  int8_t *units;          /* of each instruction */
  int8_t *segments;       /* of each instruction */
  int32_t *operators;     /* of each instruction */
  int32_t *tiles;         /* of each instruction */
  int64_t *access_ends;   /* accesses of instruction i end before access_ends[i] */
  int64_t *accesses;      /* each a vta_plan_access */
  int64_t *sequence_ends; /* micro-ops of sequence i, in the order of DRAM, end before sequence_ends[i] */
  int64_t *uops;          /* rows of dst, src and wgt of each */
} vta_stream_columns;

/* VTA_FAILED if `words` are wanted and a field does not fit its bits. */
int32_t vta_stream_copy(const vta_stream *stream, const vta_stream_columns *columns);
void vta_stream_copy_constants(const vta_stream *stream, int64_t first, vta_constant *constants);

/* Places tokens; the arena has `arena` output elements. With `serial` every instruction waits for the one before it. Returns the
   number of instructions with those that only carry tokens and FINISH, or -1 - a for an access a that leaves its memory. */
int64_t vta_stream_plan(vta_stream *stream, int64_t arena, int32_t serial);
/* Of a planned stream whose image lies at byte `base`: the fields of each instruction, and its index before tokens were placed,
   -1 for one that only carries tokens. */
void vta_stream_copy_planned(const vta_stream *stream, int64_t base, int64_t *fields, int64_t *source);
/* The same encoded, 16 bytes each. VTA_FAILED if a field does not fit its bits. */
int32_t vta_stream_encode_planned(const vta_stream *stream, int64_t base, uint8_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
