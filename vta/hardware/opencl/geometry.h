// What follows from the macros: sizes, address spaces, and what a compiler is to do with loops.

#if VTA_LOG_INP_WIDTH != 3 || VTA_LOG_WGT_WIDTH != 3 || VTA_LOG_ACC_WIDTH < 4 || VTA_LOG_ACC_WIDTH > 5
#error "inputs and weights have 8 bits, accumulators 16 or 32"
#endif

#if defined(INTELFPGA_CL) && !defined(VTA_SRAM_LOCAL)
#define VTA_SRAM_LOCAL
#endif

#ifdef VTA_SRAM_LOCAL
#define SRAM __local
#else
#define SRAM __global
#endif

// A CPU's compiler turns the loops over one element into vector instructions by itself, and is worse at it when unrolled.
#ifdef INTELFPGA_CL
#define UNROLLED _Pragma("unroll")
#define SINGLE_WORK_ITEM __attribute__((max_global_work_dim(0)))
#else
#define UNROLLED
#define SINGLE_WORK_ITEM __attribute__((reqd_work_group_size(1, 1, 1)))
#endif

#if VTA_LOG_ACC_WIDTH == 4
typedef short acc_t;
#else
typedef int acc_t;
#endif

#define BATCH (1 << VTA_LOG_BATCH)
#define BLOCK (1 << VTA_LOG_BLOCK)
#define LOG_VECTOR (VTA_LOG_BATCH + VTA_LOG_BLOCK)
#define VECTOR (1 << LOG_VECTOR)
#define LOG_MATRIX (2 * VTA_LOG_BLOCK)
#define LOG_ACC_BYTES (LOG_VECTOR + VTA_LOG_ACC_WIDTH - 3)

#define LOG_UOP_DEPTH (VTA_LOG_UOP_BUFF_SIZE - 2)
#define LOG_INP_DEPTH (VTA_LOG_INP_BUFF_SIZE - LOG_VECTOR)
#define LOG_WGT_DEPTH (VTA_LOG_WGT_BUFF_SIZE - LOG_MATRIX)
#define LOG_ACC_DEPTH (VTA_LOG_ACC_BUFF_SIZE - LOG_ACC_BYTES)
#define LOG_SRC_DEPTH (LOG_ACC_DEPTH > LOG_INP_DEPTH ? LOG_ACC_DEPTH : LOG_INP_DEPTH)

#define UOP_WORDS (1 << LOG_UOP_DEPTH)
#define INP_SCALARS (1 << VTA_LOG_INP_BUFF_SIZE)
#define WGT_SCALARS (1 << VTA_LOG_WGT_BUFF_SIZE)
#define ACC_SCALARS (1 << (LOG_ACC_DEPTH + LOG_VECTOR))

// Where each memory lies in `sram`, in bytes: the largest scalars first, so that all are aligned.
#define ACC_OFFSET 0
#define UOP_OFFSET (ACC_OFFSET + (1 << VTA_LOG_ACC_BUFF_SIZE))
#define WGT_OFFSET (UOP_OFFSET + (1 << VTA_LOG_UOP_BUFF_SIZE))
#define INP_OFFSET (WGT_OFFSET + WGT_SCALARS)
#define OUT_OFFSET (INP_OFFSET + INP_SCALARS)

// A number for the geometry: whoever launches a binary knows by it that the binary is for the same.
#define GEOMETRY                                                                                                              \
    ((ulong)VTA_LOG_ACC_WIDTH | (ulong)VTA_LOG_BATCH << 6 | (ulong)VTA_LOG_BLOCK << 12 | (ulong)VTA_LOG_UOP_BUFF_SIZE << 18 | \
     (ulong)VTA_LOG_INP_BUFF_SIZE << 24 | (ulong)VTA_LOG_WGT_BUFF_SIZE << 30 | (ulong)VTA_LOG_ACC_BUFF_SIZE << 36)
