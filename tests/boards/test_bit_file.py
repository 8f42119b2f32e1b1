"""The head of .bit files."""

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.boards.bit_file import check_bitstream, read_bit_header
from vta.boards.files import find_board, shipped_boards
from vta.config_files import find_config
from vta.errors import DeviceError
from vta.testing.boards.model import write_bitstream

SIM = find_config("sim")
ZYNQ = [name for name in shipped_boards() if find_board(name).driver == "pynq"]


def written(tmp_path, name):
    board = find_board(name)
    path = tmp_path / f"{name}.bit"
    write_bitstream(path, board, board.design("core"), SIM)
    return path


@pytest.mark.parametrize("name", ZYNQ)
def test_a_bitstream_fits_boards_with_its_part(tmp_path, name):
    path = written(tmp_path, name)
    for other in ZYNQ:
        board = find_board(other)
        if board.part == find_board(name).part:
            check_bitstream(path, board)
        else:
            with pytest.raises(DeviceError, match=f"built for part .*; board {other} has {board.part}"):
                check_bitstream(path, board)


def test_the_head_says_what_was_built(tmp_path):
    header = read_bit_header(written(tmp_path, "pynq-z1"))
    assert (header.part, header.date, header.time) == ("7z020clg400", "2024/01/01", "00:00:00")
    assert header.nbytes % 4 == 0


def test_a_short_name_of_a_part_fits_nothing(tmp_path):
    path = written(tmp_path, "pynq-z1")
    path.write_bytes(path.read_bytes().replace(b"7z020clg400", b"7z\0\0\0\0\0\0\0\0\0"))
    with pytest.raises(DeviceError, match="built for part 7z;"):
        check_bitstream(path, find_board("pynq-z1"))


@given(data=st.data())
def test_what_is_cut_or_changed_is_an_error_or_the_same_part(data, tmp_path_factory):
    path = written(tmp_path_factory.mktemp("bit"), "pynq-z1")
    contents = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        del contents[data.draw(st.integers(0, len(contents) - 1)) :]
    else:
        contents[data.draw(st.integers(0, 60))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(contents)
    with contextlib.suppress(DeviceError):
        read_bit_header(path)


def test_files_of_another_kind_are_refused(tmp_path):
    nano = find_board("de10-nano")
    with pytest.raises(DeviceError, match=r"takes files that end in \.rbf"):
        check_bitstream(written(tmp_path, "pynq-z1"), nano)
    with pytest.raises(DeviceError, match=r"takes files that end in \.bit"):
        check_bitstream(tmp_path / "x.rbf", find_board("pynq-z1"))
    with pytest.raises(DeviceError, match="no file, or an empty one"):
        check_bitstream(tmp_path / "x.rbf", nano)
    with pytest.raises(DeviceError, match="cannot be read"):
        check_bitstream(tmp_path / "x.bit", replace(find_board("pynq-z1")))
