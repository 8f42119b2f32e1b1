"""Registers of stand-ins: what hardware would take in silence is an error here."""

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.hardware.registers import REGISTERS
from vta.isa import Opcode, blank_instructions, encode
from vta.testing.boards.memory import BoardMemory
from vta.testing.boards.registers import make_blocks
from vta.testing.boards.trouble import MisuseError, SimulatedClock, Trouble

START = 0x16000000
FINISH = blank_instructions(1)
FINISH["opcode"] = Opcode.FINISH


class Board:
    """A design with its registers, and a stream in memory."""

    def __init__(self, name, design, hw, rows=FINISH):
        board = find_board(name)
        self.memory = BoardMemory(START, 1 << 16, 0)
        self.clock, self.trouble = SimulatedClock(), Trouble()
        chosen = board.design(design)
        offset = 0
        self.blocks = make_blocks(chosen, chosen.hardware(hw), self.memory, offset, self.clock, self.trouble)
        code = encode(rows, hw).reshape(-1)
        self.memory.dram[4096 : 4096 + code.size] = code
        self.stream, self.count = START + 4096, len(rows)

    def core(self, name, value=None):
        register = REGISTERS[name].offset
        return self.blocks["core"].read(register) if value is None else self.blocks["core"].write(register, value)


@pytest.fixture
def core():
    return Board("pynq-z1", "core", BASELINE)


@pytest.fixture
def hls():
    return Board("pynq-z1", "hls", HardwareConfig.named("pynq"))


@pytest.fixture
def vcr():
    return Board("de10-nano", "vcr", HardwareConfig.named("de10nano"))


def prepare(hls, units=("load", "compute", "store")):
    blocks = hls.blocks
    blocks["fetch"].write(0x10, hls.count)
    blocks["fetch"].write(0x18, hls.stream)
    for name, offsets in {"load": (0x10, 0x18), "compute": (0x20, 0x28), "store": (0x10,)}.items():
        for offset in offsets:
            blocks[name].write(offset, 0)
    for name in units:
        blocks[name].write(0, 0x81)


def test_the_core_runs(core):
    core.core("instruction_count", core.count)
    core.core("instruction_base", core.stream)
    core.core("control", 1)
    assert core.core("control") == 1
    core.clock.sleep(1.0)
    assert core.core("control") == 2
    assert core.core("compute_instructions") == 1
    assert core.core("errors") == 0


def test_the_core_is_not_started_before_it_knows_what_to_run(core):
    core.core("instruction_count", 1)
    with pytest.raises(MisuseError, match="before instruction_base was written"):
        core.core("control", 1)


@pytest.mark.parametrize(
    ("name", "value", "text"), [("cycles", 1, "nothing can be written"), ("identity", 1, "nothing can be written")]
)
def test_registers_that_cannot_be_written(core, name, value, text):
    with pytest.raises(MisuseError, match=text):
        core.core(name, value)


def test_nothing_is_written_during_a_run(core):
    core.core("instruction_count", core.count)
    core.core("instruction_base", core.stream)
    core.core("control", 1)
    with pytest.raises(MisuseError, match="instruction_base was written during a run"):
        core.core("instruction_base", 0)
    with pytest.raises(MisuseError, match="started while another goes on"):
        core.core("control", 1)


@pytest.mark.parametrize(("address", "text"), [(START + 8, "a run of 1 instructions at"), (0, "is not in memory")])
def test_streams_that_are_nowhere(core, address, text):
    core.core("instruction_count", 1)
    core.core("instruction_base", address)
    with pytest.raises(MisuseError, match=text):  # noqa: PT012 - the one at the launch, the other when it is fetched
        core.core("control", 1)
        core.clock.sleep(1.0)
        core.core("control")


def test_memory_is_touched_only_when_a_run_ends(core):
    before = core.memory.dram.copy()
    core.core("instruction_count", core.count)
    core.core("instruction_base", core.stream)
    core.core("control", 1)
    np.testing.assert_array_equal(core.memory.dram, before)


def test_the_published_design_runs(vcr):
    block = vcr.blocks["core"]
    for offset in (0x10, 0x14, 0x18, 0x1C, 0x20):
        block.write(offset, 0)
    block.write(0x08, vcr.count)
    with pytest.raises(MisuseError, match="before 0xc were written"):
        block.write(0, 1)
    block.write(0x0C, vcr.stream)
    block.write(0, 1)
    assert block.read(0) == 1
    vcr.clock.sleep(1.0)
    assert block.read(0) == 2
    assert block.read(0x04) > 0
    assert block.read(0x100) == 0
    with pytest.raises(MisuseError, match="offset 0x24, where nothing can be written"):
        block.write(0x24, 0)


def test_four_blocks_run(hls):
    prepare(hls)
    hls.blocks["fetch"].write(0, 1)
    assert hls.blocks["compute"].read(0x18) == 0
    hls.clock.sleep(1.0)
    assert hls.blocks["compute"].read(0x18) == 1
    assert hls.blocks["fetch"].read(0) & 4


def test_done_stays_up_into_the_next_run(hls):
    prepare(hls)
    hls.blocks["fetch"].write(0, 1)
    hls.clock.sleep(1.0)
    hls.blocks["fetch"].read(0)
    hls.blocks["fetch"].write(0, 1)
    assert hls.blocks["compute"].read(0x18) == 1
    hls.clock.sleep(3.05e-6)
    assert hls.blocks["compute"].read(0x18) == 0


def test_fetch_starts_last(hls):
    prepare(hls, units=("load", "store"))
    with pytest.raises(MisuseError, match="before the units that take its instructions"):
        hls.blocks["fetch"].write(0, 1)


def test_units_are_to_go_on_by_themselves(hls):
    prepare(hls, units=())
    with pytest.raises(MisuseError, match="it does one instruction, and no more"):
        hls.blocks["load"].write(0, 1)


def test_units_start_with_their_addresses(hls):
    with pytest.raises(MisuseError, match="load was started before 0x10, 0x18 were written"):
        hls.blocks["load"].write(0, 0x81)
