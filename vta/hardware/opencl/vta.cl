// VTA in OpenCL C: one work item that executes a program from a buffer which holds its instructions, micro-ops and data.
//
// The geometry comes as macros with the names of the hardware config: -DVTA_LOG_BATCH=0 -DVTA_LOG_BLOCK=4 and so on.
// The order of execution is that of the dependency tokens: of the units whose next instruction may go on, the one with the
// oldest goes first, or one at random. A launch does a bounded amount of work and leaves in `state` where it stopped, so
// that the host can look at the clock in between; the next launch goes on from there.
//
// On-chip memory is local memory for an FPGA (VTA_SRAM_LOCAL), loaded from and saved to `sram` around each launch. On a CPU
// it is `sram` itself.

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

enum opcode { LOAD, STORE, GEMM, FINISH, ALU };
enum memory { UOP, WGT, INP, ACC, OUT, ACC_8BIT };
enum alu_opcode { MIN, MAX, ADD, SHR, MUL };
enum unit { LOAD_UNIT, COMPUTE_UNIT, STORE_UNIT, UNITS };
enum queue { LOAD_TO_COMPUTE, COMPUTE_TO_LOAD, COMPUTE_TO_STORE, STORE_TO_COMPUTE, QUEUES };

enum status {
    DONE,
    MORE,
    DEADLOCK,
    BAD_GEOMETRY,
    BAD_OPCODE,
    BAD_FLAG,
    BAD_MEMORY_TYPE,
    BAD_PADS,
    BAD_ALU_OPCODE,
    SRAM_BOUNDS,
    DRAM_BOUNDS,
    UOP_BOUNDS,
    DST_BOUNDS,
    SRC_BOUNDS,
    WGT_BOUNDS
};

// The words of `state`.
enum word {
    STATUS,
    FAULT, // the instruction that went wrong
    KNOWN_GEOMETRY,
    RANDOM, // 0: the oldest instruction first; else the state of the random numbers
    NESTING, // whether the next compute instruction has begun, and where in its loops it is
    NEST_OUT,
    NEST_IN,
    CURSOR,
    TOKENS = CURSOR + UNITS,
    COMPLETED = TOKENS + QUEUES, // instructions of each unit
    UOP_BYTES = COMPLETED + UNITS,
    INP_BYTES,
    WGT_BYTES,
    ACC_BYTES,
    OUT_BYTES,
    GEMM_UOPS,
    RESET_UOPS,
    ALU_UOPS,
    WORDS
};

#define FIELD(word, low, width) ((uint)((word) >> (low)) & ((1u << (width)) - 1u))

// LOAD and STORE.

typedef struct {
    uint memory, sram, x_size, y_size, x_stride, y_pad_0, y_pad_1, x_pad_0, x_pad_1;
    ulong dram;
} transfer_t;

static transfer_t decode_transfer(ulong low, ulong high)
{
    transfer_t t;
    t.memory = FIELD(low, 7, 3);
    t.sram = FIELD(low, 10, 16);
    t.dram = (low >> 26) & 0xffffffffUL;
    t.y_size = FIELD(high, 0, 16);
    t.x_size = FIELD(high, 16, 16);
    t.x_stride = FIELD(high, 32, 16);
    t.y_pad_0 = FIELD(high, 48, 4);
    t.y_pad_1 = FIELD(high, 52, 4);
    t.x_pad_0 = FIELD(high, 56, 4);
    t.x_pad_1 = FIELD(high, 60, 4);
    return t;
}

static ulong elements(transfer_t t)
{
    return (ulong)t.x_size * t.y_size;
}

static ulong sram_rows(transfer_t t)
{
    return (ulong)(t.x_pad_0 + t.x_size + t.x_pad_1) * (t.y_pad_0 + t.y_size + t.y_pad_1);
}

static uint check_transfer(transfer_t t, uint log_depth, uint log_bytes, ulong dram_bytes)
{
    if (t.sram + sram_rows(t) > 1UL << log_depth)
        return SRAM_BOUNDS;
    // Rows do not go down in memory, so the last one reaches farthest.
    if (t.y_size != 0 && (t.dram + (ulong)(t.y_size - 1) * t.x_stride + t.x_size) << log_bytes > dram_bytes)
        return DRAM_BOUNDS;
    return DONE;
}

// Fills rows of on-chip memory, with zeros where the pads are. `log_scalars`: of one element.
#define DEFINE_LOAD(name, to_t, from_t)                                                                     \
    static void name(SRAM to_t *to, __global const from_t *restrict from, transfer_t t, uint log_scalars)   \
    {                                                                                                       \
        ulong width = (ulong)(t.x_pad_0 + t.x_size + t.x_pad_1) << log_scalars;                             \
        ulong left = (ulong)t.x_pad_0 << log_scalars, copied = (ulong)t.x_size << log_scalars;              \
        ulong right = (ulong)t.x_pad_1 << log_scalars;                                                      \
        ulong at = (ulong)t.sram << log_scalars;                                                            \
        for (ulong n = 0; n < t.y_pad_0 * width; ++n)                                                       \
            to[at++] = 0;                                                                                   \
        for (uint y = 0; y < t.y_size; ++y) {                                                               \
            ulong source = (t.dram + (ulong)y * t.x_stride) << log_scalars;                                 \
            for (ulong n = 0; n < left; ++n)                                                                \
                to[at + n] = 0;                                                                             \
            for (ulong n = 0; n < copied; ++n)                                                              \
                to[at + left + n] = from[source + n];                                                       \
            for (ulong n = 0; n < right; ++n)                                                               \
                to[at + left + copied + n] = 0;                                                             \
            at += width;                                                                                    \
        }                                                                                                   \
        for (ulong n = 0; n < t.y_pad_1 * width; ++n)                                                       \
            to[at++] = 0;                                                                                   \
    }

DEFINE_LOAD(load_bytes, char, char)
DEFINE_LOAD(load_words, uint, uint)
DEFINE_LOAD(load_accumulators, acc_t, acc_t)
DEFINE_LOAD(load_narrow, acc_t, char)

static void store_rows(__global char *restrict to, SRAM const char *from, transfer_t t)
{
    ulong row = (ulong)t.x_size << LOG_VECTOR, source = (ulong)t.sram << LOG_VECTOR;
    for (uint y = 0; y < t.y_size; ++y) {
        ulong target = (t.dram + (ulong)y * t.x_stride) << LOG_VECTOR;
        for (ulong n = 0; n < row; ++n)
            to[target + n] = from[source + n];
        source += row;
    }
}

// Executes a LOAD or STORE. Returns what is wrong with it, and then has done nothing.
static uint move(
    ulong low,
    ulong high,
    __global char *restrict dram,
    ulong dram_bytes,
    SRAM uint *uops,
    SRAM char *inp,
    SRAM char *wgt,
    SRAM acc_t *acc,
    SRAM char *out,
    ulong *words,
    ulong *spent)
{
    transfer_t t = decode_transfer(low, high);
    uint fault = DONE;
    if (t.x_size == 0)
        return DONE;
    if (FIELD(low, 0, 3) == STORE) {
        if (t.memory != OUT)
            return BAD_MEMORY_TYPE;
        if (t.y_pad_0 | t.y_pad_1 | t.x_pad_0 | t.x_pad_1)
            return BAD_PADS;
        fault = check_transfer(t, LOG_ACC_DEPTH, LOG_VECTOR, dram_bytes);
        if (fault == DONE)
            store_rows(dram, out, t);
        words[OUT_BYTES] += elements(t) << LOG_VECTOR;
        *spent += elements(t) << LOG_VECTOR;
        return fault;
    }
    uint log_scalars = t.memory == UOP ? 0 : t.memory == WGT ? LOG_MATRIX : LOG_VECTOR;
    if (t.memory == UOP) {
        fault = check_transfer(t, LOG_UOP_DEPTH, 2, dram_bytes);
        if (fault == DONE)
            load_words(uops, (__global uint *)dram, t, 0);
        words[UOP_BYTES] += elements(t) << 2;
    } else if (t.memory == WGT) {
        fault = check_transfer(t, LOG_WGT_DEPTH, LOG_MATRIX, dram_bytes);
        if (fault == DONE)
            load_bytes(wgt, dram, t, LOG_MATRIX);
        words[WGT_BYTES] += elements(t) << LOG_MATRIX;
    } else if (t.memory == INP) {
        fault = check_transfer(t, LOG_INP_DEPTH, LOG_VECTOR, dram_bytes);
        if (fault == DONE)
            load_bytes(inp, dram, t, LOG_VECTOR);
        words[INP_BYTES] += elements(t) << LOG_VECTOR;
    } else if (t.memory == ACC) {
        fault = check_transfer(t, LOG_ACC_DEPTH, LOG_ACC_BYTES, dram_bytes);
        if (fault == DONE)
            load_accumulators(acc, (__global acc_t *)dram, t, LOG_VECTOR);
        words[ACC_BYTES] += elements(t) << LOG_ACC_BYTES;
    } else if (t.memory == ACC_8BIT) {
        fault = check_transfer(t, LOG_ACC_DEPTH, LOG_VECTOR, dram_bytes);
        if (fault == DONE)
            load_narrow(acc, dram, t, LOG_VECTOR);
        // Counted by what it fills.
        words[ACC_BYTES] += elements(t) << LOG_ACC_BYTES;
    } else {
        return BAD_MEMORY_TYPE;
    }
    *spent += sram_rows(t) << log_scalars;
    return fault;
}

// GEMM and ALU.

typedef struct {
    uint opcode, reset, uop_begin, uop_end, iter_out, iter_in;
    uint dst_out, dst_in, src_out, src_in, wgt_out, wgt_in;
    uint alu_opcode, use_imm;
    int imm;
} nest_t;

static nest_t decode_nest(ulong low, ulong high)
{
    nest_t n;
    uint src_width = LOG_INP_DEPTH;
    n.opcode = FIELD(low, 0, 3);
    if (n.opcode == ALU)
        src_width = LOG_ACC_DEPTH;
    n.reset = n.opcode == GEMM && FIELD(low, 7, 1);
    n.uop_begin = FIELD(low, 8, LOG_UOP_DEPTH);
    n.uop_end = FIELD(low, 8 + LOG_UOP_DEPTH, LOG_UOP_DEPTH + 1);
    n.iter_out = FIELD(low, 9 + 2 * LOG_UOP_DEPTH, 14);
    n.iter_in = FIELD(low, 23 + 2 * LOG_UOP_DEPTH, 14);
    n.dst_out = FIELD(high, 0, LOG_ACC_DEPTH);
    n.dst_in = FIELD(high, LOG_ACC_DEPTH, LOG_ACC_DEPTH);
    n.src_out = FIELD(high, 2 * LOG_ACC_DEPTH, src_width);
    n.src_in = FIELD(high, 2 * LOG_ACC_DEPTH + src_width, src_width);
    n.wgt_out = n.wgt_in = n.alu_opcode = n.use_imm = 0;
    n.imm = 0;
    if (n.opcode == ALU) {
        n.alu_opcode = FIELD(high, 4 * LOG_ACC_DEPTH, 3);
        n.use_imm = FIELD(high, 4 * LOG_ACC_DEPTH + 3, 1);
        n.imm = (short)FIELD(high, 4 * LOG_ACC_DEPTH + 4, 16);
    } else {
        n.wgt_out = FIELD(high, 2 * LOG_ACC_DEPTH + 2 * LOG_INP_DEPTH, LOG_WGT_DEPTH);
        n.wgt_in = FIELD(high, 2 * LOG_ACC_DEPTH + 2 * LOG_INP_DEPTH + LOG_WGT_DEPTH, LOG_WGT_DEPTH);
    }
    return n;
}

static uint uop_dst(ulong uop)
{
    return FIELD(uop, 0, LOG_ACC_DEPTH);
}

static uint uop_src(ulong uop)
{
    return FIELD(uop, LOG_ACC_DEPTH, LOG_SRC_DEPTH);
}

static uint uop_wgt(ulong uop)
{
    return FIELD(uop, LOG_ACC_DEPTH + LOG_SRC_DEPTH, LOG_WGT_DEPTH);
}

static bool is_empty(nest_t n)
{
    return n.iter_out == 0 || n.iter_in == 0 || n.uop_end <= n.uop_begin;
}

static ulong farthest(uint row, uint factor_out, uint factor_in, nest_t n)
{
    return row + (ulong)(n.iter_out - 1) * factor_out + (ulong)(n.iter_in - 1) * factor_in;
}

// Indices only grow along the loops, so the last iteration is the one to check.
static uint check_nest(nest_t n, SRAM const uint *uops)
{
    if (n.opcode == ALU && n.alu_opcode > MUL)
        return BAD_ALU_OPCODE;
    if (n.uop_end > UOP_WORDS)
        return UOP_BOUNDS;
    bool has_src = n.opcode == ALU ? !n.use_imm : !n.reset, has_wgt = n.opcode == GEMM && !n.reset;
    uint dst = 0, src = 0, wgt = 0;
    for (uint u = n.uop_begin; u < n.uop_end; ++u) {
        dst = max(dst, uop_dst(uops[u]));
        src = max(src, uop_src(uops[u]));
        wgt = max(wgt, uop_wgt(uops[u]));
    }
    if (farthest(dst, n.dst_out, n.dst_in, n) >> LOG_ACC_DEPTH)
        return DST_BOUNDS;
    if (has_src && farthest(src, n.src_out, n.src_in, n) >> (n.opcode == ALU ? LOG_ACC_DEPTH : LOG_INP_DEPTH))
        return SRC_BOUNDS;
    if (has_wgt && farthest(wgt, n.wgt_out, n.wgt_in, n) >> LOG_WGT_DEPTH)
        return WGT_BOUNDS;
    return DONE;
}

static void multiply(SRAM acc_t *acc, SRAM char *out, SRAM const char *inp, SRAM const char *wgt)
{
    UNROLLED
    for (int b = 0; b < BATCH; ++b) {
        UNROLLED
        for (int c = 0; c < BLOCK; ++c) {
            int sum = 0;
            UNROLLED
            for (int k = 0; k < BLOCK; ++k)
                sum += inp[b * BLOCK + k] * wgt[c * BLOCK + k];
            // Accumulators wrap around: unsigned, because signed overflow is undefined.
            acc_t result = (acc_t)((uint)acc[b * BLOCK + c] + (uint)sum);
            acc[b * BLOCK + c] = result;
            out[b * BLOCK + c] = (char)result;
        }
    }
}

static void clear(SRAM acc_t *acc)
{
    UNROLLED
    for (int n = 0; n < VECTOR; ++n)
        acc[n] = 0;
}

static acc_t alu_result(uint opcode, int x, int y)
{
    if (opcode == MIN)
        return (acc_t)min(x, y);
    if (opcode == MAX)
        return (acc_t)max(x, y);
    if (opcode == ADD)
        return (acc_t)((uint)x + (uint)y);
    if (opcode == MUL)
        return (acc_t)((uint)x * (uint)y);
    if (y >= 0)
        return (acc_t)(x >> min(y, 31));
    return (acc_t)(y < -31 ? 0u : (uint)x << -y);
}

static void apply(SRAM acc_t *dst, SRAM char *out, SRAM const acc_t *src, uint opcode, uint use_imm, int imm)
{
    UNROLLED
    for (int n = 0; n < VECTOR; ++n) {
        acc_t result = alu_result(opcode, dst[n], use_imm ? imm : src[n]);
        dst[n] = result;
        out[n] = (char)result;
    }
}

// All micro-ops of one iteration of the loops.
static void iterate(
    nest_t n, uint o, uint i, SRAM const uint *uops, SRAM const char *inp, SRAM const char *wgt, SRAM acc_t *acc, SRAM char *out)
{
    uint dst = o * n.dst_out + i * n.dst_in, src = o * n.src_out + i * n.src_in, weight = o * n.wgt_out + i * n.wgt_in;
    for (uint u = n.uop_begin; u < n.uop_end; ++u) {
        uint uop = uops[u];
        uint d = (dst + uop_dst(uop)) << LOG_VECTOR, s = (src + uop_src(uop)) << LOG_VECTOR;
        if (n.opcode == ALU)
            apply(acc + d, out + d, acc + (n.use_imm ? d : s), n.alu_opcode, n.use_imm, n.imm);
        else if (n.reset)
            clear(acc + d);
        else
            multiply(acc + d, out + d, inp + s, wgt + ((weight + uop_wgt(uop)) << LOG_MATRIX));
    }
}

// Executes a GEMM or ALU instruction, or goes on with it: when `spent` reaches `work` it stops between two iterations, and
// NESTING says so. Returns what is wrong with it, and then has done nothing.
static uint compute(
    ulong low,
    ulong high,
    SRAM const uint *uops,
    SRAM const char *inp,
    SRAM const char *wgt,
    SRAM acc_t *acc,
    SRAM char *out,
    ulong *words,
    ulong *spent,
    ulong work)
{
    nest_t n = decode_nest(low, high);
    if (is_empty(n))
        return DONE;
    ulong uop_count = n.uop_end - n.uop_begin;
    ulong cost = uop_count << (n.opcode == GEMM && !n.reset ? VTA_LOG_BATCH + LOG_MATRIX : LOG_VECTOR);
    uint o = 0, i = 0;
    if (words[NESTING]) {
        o = (uint)words[NEST_OUT];
        i = (uint)words[NEST_IN];
    } else {
        uint fault = check_nest(n, uops);
        if (fault != DONE)
            return fault;
        *spent += uop_count;
        words[n.opcode == ALU ? ALU_UOPS : n.reset ? RESET_UOPS : GEMM_UOPS] += uop_count * n.iter_out * n.iter_in;
    }
    bool paused = false;
    while (o < n.iter_out && !paused) {
        iterate(n, o, i, uops, inp, wgt, acc, out);
        *spent += cost;
        if (++i == n.iter_in) {
            i = 0;
            ++o;
        }
        paused = *spent >= work && o < n.iter_out;
    }
    words[NESTING] = paused;
    words[NEST_OUT] = o;
    words[NEST_IN] = i;
    return DONE;
}

// Dependencies.

static uint unit_of(ulong low)
{
    uint opcode = FIELD(low, 0, 3), memory = FIELD(low, 7, 3);
    if (opcode == STORE)
        return STORE_UNIT;
    return opcode == LOAD && (memory == INP || memory == WGT) ? LOAD_UNIT : COMPUTE_UNIT;
}

static bool has_flag_of_missing_unit(ulong low, uint unit)
{
    bool prev = FIELD(low, 3, 1) | FIELD(low, 5, 1), next = FIELD(low, 4, 1) | FIELD(low, 6, 1);
    return (unit == LOAD_UNIT && prev) || (unit == STORE_UNIT && next);
}

// The queue that a flag means. A unit that has no neighbour on that side never asks.
static uint queue_from_prev(uint unit)
{
    return unit == COMPUTE_UNIT ? LOAD_TO_COMPUTE : COMPUTE_TO_STORE;
}

static uint queue_from_next(uint unit)
{
    return unit == LOAD_UNIT ? COMPUTE_TO_LOAD : STORE_TO_COMPUTE;
}

static uint queue_to_prev(uint unit)
{
    return unit == COMPUTE_UNIT ? COMPUTE_TO_LOAD : STORE_TO_COMPUTE;
}

static uint queue_to_next(uint unit)
{
    return unit == LOAD_UNIT ? LOAD_TO_COMPUTE : COMPUTE_TO_STORE;
}

// The unit that goes on, with CURSOR at its next instruction. Sets `status` where none can.
static uint next_unit(__global const ulong *restrict code, uint count, ulong *words, uint *status)
{
    bool left = false;
    uint ready[UNITS], ready_count = 0, oldest = 0;
    for (uint unit = 0; unit < UNITS; ++unit) {
        ulong at = words[CURSOR + unit];
        while (at < count && unit_of(code[2 * at]) != unit)
            ++at;
        words[CURSOR + unit] = at;
        if (at == count)
            continue;
        left = true;
        ulong low = code[2 * at];
        if (FIELD(low, 0, 3) > ALU || has_flag_of_missing_unit(low, unit)) {
            *status = FIELD(low, 0, 3) > ALU ? BAD_OPCODE : BAD_FLAG;
            words[FAULT] = at;
            return unit;
        }
        bool waits = (FIELD(low, 3, 1) && words[TOKENS + queue_from_prev(unit)] == 0) ||
                     (FIELD(low, 4, 1) && words[TOKENS + queue_from_next(unit)] == 0);
        if (!waits) {
            if (ready_count == 0 || at < words[CURSOR + ready[oldest]])
                oldest = ready_count;
            ready[ready_count++] = unit;
        }
    }
    // An instruction that has begun has its tokens.
    if (words[NESTING])
        return COMPUTE_UNIT;
    if (ready_count == 0) {
        *status = left ? DEADLOCK : DONE;
        return UNITS;
    }
    if (words[RANDOM]) {
        ulong random = words[RANDOM];
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        words[RANDOM] = random;
        return ready[(uint)(random >> 33) % ready_count];
    }
    return ready[oldest];
}

SINGLE_WORK_ITEM
__kernel void vta_run(
    __global char *restrict dram,
    ulong dram_bytes,
    ulong code_address, // of the stream in `dram`, a multiple of 8
    uint count,         // instructions
    ulong work,         // multiply-accumulates, or what takes as long, after which a launch stops
    ulong geometry,
    __global ulong *restrict state, // WORDS
    __global char *restrict sram)
{
    __global const ulong *restrict code = (__global const ulong *)(dram + code_address);

#ifdef VTA_SRAM_LOCAL
    __local acc_t acc[ACC_SCALARS];
    __local uint uops[UOP_WORDS];
    __local char wgt[WGT_SCALARS];
    __local char inp[INP_SCALARS];
    __local char out[ACC_SCALARS];
#else
    __global acc_t *acc = (__global acc_t *)(sram + ACC_OFFSET);
    __global uint *uops = (__global uint *)(sram + UOP_OFFSET);
    __global char *wgt = sram + WGT_OFFSET;
    __global char *inp = sram + INP_OFFSET;
    __global char *out = sram + OUT_OFFSET;
#endif

    state[KNOWN_GEOMETRY] = GEOMETRY;
    if (geometry != GEOMETRY) {
        state[STATUS] = BAD_GEOMETRY;
        return;
    }

#ifdef VTA_SRAM_LOCAL
    for (uint n = 0; n < ACC_SCALARS; ++n) {
        acc[n] = ((__global acc_t *)(sram + ACC_OFFSET))[n];
        out[n] = sram[OUT_OFFSET + n];
    }
    for (uint n = 0; n < UOP_WORDS; ++n)
        uops[n] = ((__global uint *)(sram + UOP_OFFSET))[n];
    for (uint n = 0; n < WGT_SCALARS; ++n)
        wgt[n] = sram[WGT_OFFSET + n];
    for (uint n = 0; n < INP_SCALARS; ++n)
        inp[n] = sram[INP_OFFSET + n];
#endif

    ulong words[WORDS];
    for (uint n = 0; n < WORDS; ++n)
        words[n] = state[n];

    uint status = MORE;
    ulong spent = 0;
    while (status == MORE && spent < work) {
        uint unit = next_unit(code, count, words, &status);
        if (status != MORE)
            break;
        ulong index = words[CURSOR + unit];
        ulong low = code[2 * index], high = code[2 * index + 1];
        uint opcode = FIELD(low, 0, 3), fault = DONE;
        ++spent;

        if (!words[NESTING]) {
            if (FIELD(low, 3, 1))
                --words[TOKENS + queue_from_prev(unit)];
            if (FIELD(low, 4, 1))
                --words[TOKENS + queue_from_next(unit)];
        }

        if (opcode == LOAD || opcode == STORE)
            fault = move(low, high, dram, dram_bytes, uops, inp, wgt, acc, out, words, &spent);
        else if (opcode == GEMM || opcode == ALU)
            fault = compute(low, high, uops, inp, wgt, acc, out, words, &spent, work);

        if (fault != DONE) {
            status = fault;
            words[FAULT] = index;
        } else if (!words[NESTING]) {
            if (FIELD(low, 5, 1))
                ++words[TOKENS + queue_to_prev(unit)];
            if (FIELD(low, 6, 1))
                ++words[TOKENS + queue_to_next(unit)];
            ++words[COMPLETED + unit];
            words[CURSOR + unit] = index + 1;
        }
    }

    words[STATUS] = status;
    words[KNOWN_GEOMETRY] = GEOMETRY;
    for (uint n = 0; n < WORDS; ++n)
        state[n] = words[n];

#ifdef VTA_SRAM_LOCAL
    for (uint n = 0; n < ACC_SCALARS; ++n) {
        ((__global acc_t *)(sram + ACC_OFFSET))[n] = acc[n];
        sram[OUT_OFFSET + n] = out[n];
    }
    for (uint n = 0; n < UOP_WORDS; ++n)
        ((__global uint *)(sram + UOP_OFFSET))[n] = uops[n];
    for (uint n = 0; n < WGT_SCALARS; ++n)
        sram[WGT_OFFSET + n] = wgt[n];
    for (uint n = 0; n < INP_SCALARS; ++n)
        sram[INP_OFFSET + n] = inp[n];
#endif
}
