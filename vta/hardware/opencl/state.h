// Numbers that instructions, the host and the parts of the kernel have in common.

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
