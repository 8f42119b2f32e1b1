"""The stream: instructions as written, what they read and write, and micro-ops in their SRAM."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, FEW_UOPS
from vta.codegen.stream import Access, Loop, Segment, Space, Stream, UopsOverflow, single_uop
from vta.config.targets import MemoryType
from vta.errors import CompileError, EncodingError
from vta.isa.instruction import INSTRUCTION_DTYPE, UOP_DTYPE, AluOp, Opcode, Unit

NAMES = INSTRUCTION_DTYPE.names


def last(stream):
    return dict(zip(NAMES, stream.instructions[-1].tolist(), strict=True))


def accesses(stream):
    """What each instruction reads and writes."""
    ends = np.cumsum(stream.access_counts).tolist()
    rows = [Access(*row) for row in stream.accesses.tolist()]
    return [tuple(rows[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def resident(stream, sequence):
    """Use a sequence; returns the rows of the uop SRAM in which it lies."""
    stream.gemm(sequence)
    row = last(stream)
    return row["uop_bgn"], row["uop_end"]


def uop_loads(stream):
    return int((stream.segments == Segment.UOPS).sum())


def uops(*rows):
    return np.array(list(rows), dtype=UOP_DTYPE)


def test_a_padded_load_covers_its_pads_in_sram_but_not_in_the_arena():
    stream = Stream(BASELINE)
    stream.load(MemoryType.INP, 40, Segment.ARENA, 7, 3, 2, 10, (1, 2, 0, 4))
    row = last(stream)
    assert (row["sram_base"], row["dram_base"], row["x_size"], row["y_size"], row["x_stride"]) == (40, 7, 3, 2, 10)
    assert (row["y_pad_0"], row["x_pad_0"], row["y_pad_1"], row["x_pad_1"]) == (1, 2, 0, 4)
    assert stream.units.tolist() == [Unit.LOAD]
    assert accesses(stream) == [(Access(Space.INP, True, 40, 9 * 3), Access(Space.DRAM, False, 7, 3, 2, 10))]


def test_constants_are_loaded_by_their_unit_and_touch_no_shared_dram():
    stream = Stream(BASELINE)
    stream.load(MemoryType.WGT, 3, Segment.CONSTANTS, 5, 4)
    stream.load(MemoryType.ACC, 3, Segment.CONSTANTS, 5, 4)
    assert stream.units.tolist() == [Unit.LOAD, Unit.COMPUTE]
    assert accesses(stream) == [(Access(Space.WGT, True, 3, 4),), ()]
    assert last(stream)["x_stride"] == 4


def test_a_store_reads_dense_rows_and_writes_rows_of_the_arena():
    stream = Stream(BASELINE)
    stream.store(8, 100, 3, 2, 50)
    assert last(stream)["opcode"] == Opcode.STORE
    assert last(stream)["memory_type"] == MemoryType.OUT
    assert accesses(stream) == [(Access(Space.OUT, False, 8, 6), Access(Space.DRAM, True, 100, 3, 2, 50))]


def test_a_product_reads_and_writes_from_the_first_to_the_last_row_of_its_loops():
    stream = Stream(BASELINE)
    stream.gemm(uops((10, 20, 3), (12, 25, 1)), Loop(3, 100, 10, 2), Loop(4, 5, 1, 0))
    row = last(stream)
    assert (row["iter_out"], row["iter_in"], row["uop_end"] - row["uop_bgn"]) == (3, 4, 2)
    assert (row["dst_factor_out"], row["src_factor_in"], row["wgt_factor_out"]) == (100, 1, 2)
    assert set(accesses(stream)[-1]) == {
        Access(Space.OUT, True, 10, 12 + 200 + 15 - 10 + 1),
        Access(Space.INP, False, 20, 25 + 20 + 3 - 20 + 1),
        Access(Space.WGT, False, 1, 3 + 4 - 1 + 1),
    }


def test_a_reset_reads_nothing():
    stream = Stream(BASELINE)
    stream.gemm(single_uop(4), inner=Loop(6, 1, 0), reset=True)
    assert accesses(stream)[-1] == (Access(Space.OUT, True, 4, 6),)
    assert last(stream)["reset"] == 1


def test_an_immediate_of_zero_is_an_immediate():
    stream = Stream(BASELINE)
    stream.alu(AluOp.MAX, single_uop(4, 4), inner=Loop(6, 1, 1), imm=0)
    assert (last(stream)["use_imm"], last(stream)["imm"]) == (1, 0)
    stream.alu(AluOp.ADD, single_uop(4, 9), inner=Loop(6, 1, 1))
    assert last(stream)["use_imm"] == 0


def test_instructions_belong_to_the_operator_and_tile_that_emit_them():
    stream = Stream(BASELINE)
    with stream.origin(2, 3):
        stream.tile = 5
        stream.store(0, 0, 1, 1, 1)
        stream.gemm(single_uop(0), is_transfer=True)
    stream.store(0, 0, 1, 1, 1)
    assert stream.operators.tolist() == [2, 2, 3, -1]
    assert stream.tiles.tolist() == [5, 5, 5, -1]


def test_constants_are_aligned_for_their_memory():
    stream = Stream(BASELINE)
    assert stream.add_constant(np.zeros(64, np.uint8), MemoryType.ACC) == 0
    assert stream.add_constant(np.ones(256, np.int8), MemoryType.WGT) == 1
    assert stream.add_constant(np.zeros(16, np.int32), MemoryType.ACC) == 8
    assert stream.constants_bytes == 512 + 64 == stream.constant_places[-1][0] + 64


def test_a_sequence_is_stored_once_and_loaded_while_it_is_not_on_chip():
    stream = Stream(FEW_UOPS)
    first, second = (uops(*((row, row, 0) for row in range(start, start + 9))) for start in (0, 100))
    assert resident(stream, first) == resident(stream, first) == (0, 9)
    assert uop_loads(stream) == 1
    assert resident(stream, second) == (0, 9), "9 + 9 micro-ops do not fit 16: placing starts again"
    assert resident(stream, first) == (0, 9)
    assert uop_loads(stream) == 3
    assert stream.sequence_sizes.tolist() == [9, 9]
    assert stream.uops.tolist() == [*first.tolist(), *second.tolist()]


def test_sequences_share_the_sram_while_they_fit():
    stream = Stream(FEW_UOPS)
    places = [resident(stream, uops(*((row, i, 0) for row in range(5))))[0] for i in range(4)]
    assert places == [0, 5, 10, 0]
    assert resident(stream, uops(*((row, 2, 0) for row in range(5))))[0] == 10
    assert uop_loads(stream) == 4


def test_loads_of_sequences_become_one_where_all_fit():
    stream = Stream(FEW_UOPS)
    for row in range(3):
        stream.gemm(single_uop(row), reset=True)
    assert stream.gather_uop_loads().tolist() == [1, 2, 2, 3, 3, 4]
    assert stream.segments.tolist() == [Segment.UOPS, Segment.NONE, Segment.NONE, Segment.NONE]
    assert (stream.instructions[0]["x_size"], stream.instructions["uop_bgn"].tolist()) == (3, [0, 0, 1, 2])


def test_loads_of_sequences_stay_where_they_do_not_fit_together():
    stream = Stream(FEW_UOPS)
    for row in range(17):
        stream.gemm(single_uop(row), reset=True)
    assert stream.gather_uop_loads().tolist() == list(range(1, 35))
    assert uop_loads(stream) == 17


def test_sequences_that_have_to_fit_together_and_do_not():
    stream = Stream(FEW_UOPS, gathers_uops=True)
    for row in range(16):
        stream.gemm(single_uop(row), reset=True)
    with pytest.raises(UopsOverflow):
        stream.gemm(single_uop(16), reset=True)


def test_operators_that_load_their_sequences_share_them_in_dram():
    stream = Stream(FEW_UOPS, groups_uops=True)
    for number in range(3):
        with stream.origin(number, number):
            stream.gemm(single_uop(number // 2), reset=True)
            stream.gemm(single_uop(5), reset=True)
    loads = stream.instructions[stream.segments == Segment.UOPS]
    assert loads["dram_base"].tolist() == [0, 0, 2]
    assert loads["x_size"].tolist() == [2, 2, 2]
    assert stream.operators.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_a_sequence_longer_than_the_sram_is_refused():
    stream = Stream(FEW_UOPS)
    with pytest.raises(CompileError, match="a micro-op sequence of 17 does not fit the uop buffer of 16"):
        stream.gemm(uops(*((row, 0, 0) for row in range(17))))


def test_the_target_may_have_fewer_micro_ops_than_the_config():
    stream = Stream(replace(BASELINE, target="tsim"))
    with pytest.raises(CompileError, match="does not fit the uop buffer of 2048"):
        stream.gemm(np.zeros(2049, UOP_DTYPE))


def test_fields_that_do_not_fit_are_named_when_encoded():
    stream = Stream(BASELINE)
    stream.store(0, 0, 1 << 16, 1, 1)
    with pytest.raises(EncodingError, match=r"instruction 0 \(STORE\): x_size = 65536 does not fit"):
        stream.encoded()
