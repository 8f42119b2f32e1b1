"""The DE10-Nano's own parts: programming the fabric, mapping physical memory, and words instead of bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE
from vta.boards.files import find_board
from vta.devices.cyclone_fpga import MANAGER, program_fabric
from vta.devices.de10nano import De10NanoHost, DevMem
from vta.devices.device import RunOptions
from vta.devices.engine.clock import SystemClock
from vta.errors import DeviceError
from vta.isa import Opcode, blank_instructions, encode
from vta.testing.boards.bench import make_stand_in
from vta.testing.boards.dev_mem import PhysicalModel
from vta.testing.boards.trouble import MisuseError

FINISH = blank_instructions(1)
FINISH["opcode"] = Opcode.FINISH


@pytest.fixture
def stand_in(tmp_path):
    return make_stand_in("de10-nano", "core", BASELINE, tmp_path)


def programmed(stand_in, msel=0b01010, data=None):
    """Program the fabric of a stand-in whose switches are set to `msel`."""
    stand_in.physical = PhysicalModel(stand_in.model, msel)
    contents = stand_in.bitstream.read_bytes() if data is None else data
    program_fabric(stand_in.physical.registers, contents, stand_in.model.clock)


@pytest.mark.parametrize("msel", [0b01000, 0b01001, 0b01010])
def test_the_fabric_is_programmed_whatever_way_the_switches_allow(stand_in, msel):
    programmed(stand_in, msel)
    assert stand_in.physical.manager.open
    assert stand_in.model.programmed == 1
    stand_in.open(program=False).run(encode(FINISH, BASELINE), RunOptions(limit_seconds=1.0))


def test_switches_that_do_not_fit_are_named(stand_in):
    with pytest.raises(DeviceError, match=r"MSEL are set to 00000; allowed: 01000, 01001, 01010"):
        programmed(stand_in, 0)


def test_a_file_that_the_fabric_refuses(stand_in):
    with pytest.raises(DeviceError, match="it refuses the bitstream"):
        programmed(stand_in, data=b"\xff" * 64)
    assert not stand_in.physical.manager.open


def test_a_file_that_is_cut(stand_in):
    with pytest.raises(DeviceError, match="an answer did not come within 2 s"):
        programmed(stand_in, data=stand_in.bitstream.read_bytes()[:-8])


def test_before_it_is_programmed_the_bridge_is_closed(stand_in):
    with pytest.raises(DeviceError, match="bus error at 0xff22"):
        stand_in.open(program=False)


def test_the_fabric_is_not_reset_while_bridges_are_open(stand_in):
    programmed(stand_in)
    manager = stand_in.physical.registers(MANAGER, 4096)
    with pytest.raises(MisuseError, match="while bridges to it are open"):
        manager.write(4, 0x2C5)


def test_physical_memory_is_mapped(tmp_path):
    path = tmp_path / "mem"
    path.write_bytes(bytes(range(256)) * 64)
    memory = DevMem(path)
    words = memory.words(4096 + 8, 16)
    assert words.tobytes() == bytes(range(8, 24))
    registers = memory.registers(8192, 4096)
    registers.write(4, 0xDEADBEEF)
    assert registers.read(4) == 0xDEADBEEF
    assert path.read_bytes()[8196:8200] == bytes.fromhex("efbeadde")
    with pytest.raises(DeviceError, match="4096 bytes at 0x100000 cannot be mapped"):
        memory.words(0x100000, 4096)
    memory.close()
    memory.close()


def test_physical_memory_that_cannot_be_opened(tmp_path):
    with pytest.raises(DeviceError, match=r"none: cannot be opened: No such file or directory; it takes the rights of root"):
        DevMem(tmp_path / "none")


class WordsOnly(np.ndarray):
    """Memory that faults unless whole words are accessed."""

    def __getitem__(self, place):
        assert isinstance(place, slice)
        return super().__getitem__(place)


@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 50), st.integers(0, 30)), max_size=12))
def test_bytes_are_put_together_from_words(steps):
    class Memory:
        def words(self, address, nbytes):
            assert (address, nbytes) == (0x30000000, 0x10000000)
            return np.zeros(1 << 14, "<u4").view(WordsOnly)

    board = find_board("de10-nano")
    block = De10NanoHost(board, Memory(), SystemClock()).allocate(4096)
    assert block.address == 0xB0001000
    expected = np.zeros(4096, np.uint8)
    for number, (writes, offset, nbytes) in enumerate(steps):
        if writes:
            data = np.full(nbytes, number + 1, np.uint8)
            block.write(offset, data)
            expected[offset : offset + nbytes] = data
        np.testing.assert_array_equal(block.read(offset, nbytes), expected[offset : offset + nbytes])
    np.testing.assert_array_equal(block.read(0, 4096), expected)
