// VTA in OpenCL C: one work item that executes a program from a buffer which holds its instructions, micro-ops and data.
//
// The geometry comes as macros with the names of the hardware config: -DVTA_LOG_BATCH=0 -DVTA_LOG_BLOCK=4 and so on.
// The order of execution is that of the dependency tokens: of the units whose next instruction may go on, the one with the
// oldest goes first, or one at random. A launch does a bounded amount of work and leaves in `state` where it stopped, so
// that the host can look at the clock in between; the next launch goes on from there.
//
// On-chip memory is local memory for an FPGA (VTA_SRAM_LOCAL), loaded from and saved to `sram` around each launch. On a CPU
// it is `sram` itself.

#include "geometry.h"
#include "state.h"

#include "transfer.h"
#include "compute.h"
#include "dependencies.h"

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
