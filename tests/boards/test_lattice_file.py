"""The head of an ECP5's bitstream."""

import pytest

from vta.boards.lattice_file import read_lattice_part
from vta.errors import DeviceError


def test_the_part_is_read(tmp_path):
    file = tmp_path / "a.bit"
    file.write_bytes(b"\xff\x00Some words\0Part: LFE5U-25F-6CABGA381\0\xff\xff\xbd\xb3")
    assert read_lattice_part(file) == "LFE5U-25F-6CABGA381"


@pytest.mark.parametrize("data", [b"", b"\xff\x00", b"Part: x\0\xff", b"\xff\x00Part: x", b"\xff\x00Name: x\0\xff"])
def test_what_is_no_bitstream_is_named(tmp_path, data):
    file = tmp_path / "a.bit"
    file.write_bytes(data)
    with pytest.raises(DeviceError, match=r"a\.bit: not a bitstream of an ECP5: its head names no part"):
        read_lattice_part(file)
    with pytest.raises(DeviceError, match=r"none\.bit: cannot be read"):
        read_lattice_part(tmp_path / "none.bit")
