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
