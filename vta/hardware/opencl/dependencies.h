// Dependency tokens: which unit goes on.

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
