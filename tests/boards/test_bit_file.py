"""The head of .bit files."""

import contextlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.boards.bit_file import check_bitstream, design_of, read_bit_header
from vta.boards.files import find_board, shipped_boards
from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError, DeviceError
from vta.testing.boards.model import write_bitstream

SIM = HardwareConfig.named("sim")
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


@pytest.mark.parametrize("name", ["pynq-z1", "pynq-z2"])
def test_a_file_says_which_design_it_is(tmp_path, name):
    """The core of this package by its head; the default is for what says nothing."""
    board = find_board(name)
    for design in board.designs.values():
        path = tmp_path / f"{design.name}.bit"
        write_bitstream(path, board, design, SIM)
        assert design_of(path, board) == design
        assert design_of(path, board, design.name) == design
    core, hls = tmp_path / "core.bit", tmp_path / "hls.bit"
    assert design_of(hls, board, otherwise="core").name == "core"
    assert design_of(core, board, otherwise="hls").name == "core"
    with pytest.raises(DeviceError, match=r"core\.bit: its head says that it is design core, and not hls"):
        design_of(core, board, "hls")
    with pytest.raises(DeviceError, match="says that it is design core, and not hls"):
        check_bitstream(core, board, board.design("hls"))
    with pytest.raises(ConfigError, match="no design 'vcr'"):
        design_of(hls, board, "vcr")


def test_what_was_packaged_beside_a_file_says_what_it_is(tmp_path):
    """Also of a file without a head; a package for another file or another board says nothing."""
    nano, z1 = find_board("de10-nano"), find_board("pynq-z1")
    package = {"board": "de10-nano", "design": "core", "bitstream": "de10-nano/core/made.rbf"}
    (tmp_path / "package.json").write_text(json.dumps(package))
    core = next(name for name, design in nano.designs.items() if design.registers == "core")
    package["design"] = core
    (tmp_path / "package.json").write_text(json.dumps(package))
    for name in ("made.rbf", "other.rbf"):
        (tmp_path / name).write_bytes(b"data")
    assert design_of(tmp_path / "made.rbf", nano).name == core
    assert design_of(tmp_path / "other.rbf", nano).name == nano.default
    other = next(name for name in nano.designs if name != core)
    with pytest.raises(DeviceError, match=rf"package\.json says that it is design {core}, and not {other}"):
        design_of(tmp_path / "made.rbf", nano, other)
    for junk in ("", "[]", "{}", "[" * 100_000, '{"design": 3, "bitstream": "made.rbf"}', '{"design": "core", "bitstream": 3}'):
        (tmp_path / "package.json").write_text(junk)
        assert design_of(tmp_path / "made.rbf", nano).name == nano.default
    assert z1.core_design().name == "core"
    assert z1.core_design("hls").name == "hls"
    with pytest.raises(ConfigError, match="has none of this package's core"):
        replace(z1, designs={"hls": z1.design("hls")}).core_design()
