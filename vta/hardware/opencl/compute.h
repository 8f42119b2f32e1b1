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
