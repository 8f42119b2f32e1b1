"""Directories of bitstreams."""

import json
import multiprocessing

import pytest

from vta.boards.files import find_board, shipped_boards
from vta.boards.manifest import MANIFEST, add_bitstream, checksum, find_bitstream, read_manifest
from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError, DeviceError

BOARD = find_board("pynq-z1")
HLS, CORE = BOARD.design("hls"), BOARD.design("core")
PYNQ, NARROW = HardwareConfig.named("pynq"), HardwareConfig.named("pynq_4x8")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "made.bit"
    path.write_bytes(b"bits")
    return path


def test_what_is_added_is_found(file, tmp_path):
    store = tmp_path / "store"
    entry = add_bitstream(store, BOARD, HLS, PYNQ, file, "a test")
    assert find_bitstream(store, BOARD, HLS, PYNQ) == store / "pynq/0.0.2/1x16_i8w8a32_15_15_18_17.bit"
    assert entry.sha256 == checksum(file)
    assert read_manifest(store) == (entry,)


def test_another_of_the_same_config_replaces_it(file, tmp_path):
    store = tmp_path / "store"
    for contents in (b"old", b"new"):
        file.write_bytes(contents)
        add_bitstream(store, BOARD, HLS, PYNQ, file, contents.decode())
        add_bitstream(store, BOARD, HLS, NARROW, file, contents.decode())
        add_bitstream(store, BOARD, CORE, PYNQ, file, contents.decode())
    assert [entry.source for entry in read_manifest(store)] == ["new"] * 3
    assert find_bitstream(store, BOARD, HLS, PYNQ).read_bytes() == b"new"


def test_metadata_comes_along(file, tmp_path):
    file.with_suffix(".hwh").write_text("metadata")
    add_bitstream(tmp_path / "store", BOARD, CORE, PYNQ, file, "a test")
    assert find_bitstream(tmp_path / "store", BOARD, CORE, PYNQ).with_suffix(".hwh").read_text() == "metadata"


def test_metadata_of_another_file_goes_with_it(file, tmp_path):
    store = tmp_path / "store"
    file.with_suffix(".hwh").write_text("metadata")
    add_bitstream(store, BOARD, CORE, PYNQ, file, "a test")
    file.with_suffix(".hwh").unlink()
    add_bitstream(store, BOARD, CORE, PYNQ, file, "a test")
    assert not find_bitstream(store, BOARD, CORE, PYNQ).with_suffix(".hwh").exists()


def test_the_description_that_a_driver_needs_goes_from_store_to_store(file, tmp_path):
    board = find_board("ecpix5")
    design, hw = board.core_design(), HardwareConfig.named("sim_1x8")
    (tmp_path / "package.json").write_text("description")
    for number, source in enumerate(("made.bit", f"store0/{design.bitstream_name(hw)}", f"store1/{design.bitstream_name(hw)}")):
        add_bitstream(tmp_path / f"store{number}", board, design, hw, tmp_path / source, "a test")
        assert find_bitstream(tmp_path / f"store{number}", board, design, hw).with_suffix(".json").read_text() == "description"
    again = find_bitstream(tmp_path / "store2", board, design, hw)
    add_bitstream(tmp_path / "store2", board, design, hw, again, "itself")
    assert again.read_bytes() == b"bits"
    assert again.with_suffix(".json").read_text() == "description"


def _add(config, store, file):
    add_bitstream(store, BOARD, CORE, HardwareConfig.named(config), file, "a test")


def test_processes_add_at_once(file, tmp_path):
    configs = ["sim", "sim_1x4", "sim_1x8", "sim_1x32", "sim_4x8", "sim_rq"]
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_add, args=(config, tmp_path / "store", file)) for config in configs]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * len(configs)
    assert {entry.config for entry in read_manifest(tmp_path / "store")} == {
        HardwareConfig.named(name).bitstream for name in configs
    }


def test_what_is_missing_is_said_beside_what_is_there(file, tmp_path):
    with pytest.raises(DeviceError, match=r"no bitstream of design hls .* there: none"):
        find_bitstream(tmp_path, BOARD, HLS, PYNQ)
    add_bitstream(tmp_path / "store", BOARD, CORE, PYNQ, file, "a test")
    with pytest.raises(DeviceError, match=r"there: core 1x16_i8w8a32_15_15_18_17 \(HW_VER 0.0.2\)"):
        find_bitstream(tmp_path / "store", BOARD, HLS, PYNQ)


def test_damage_is_found(file, tmp_path):
    add_bitstream(tmp_path, BOARD, HLS, PYNQ, file, "a test")
    path = find_bitstream(tmp_path, BOARD, HLS, PYNQ)
    path.write_bytes(b"bite")
    with pytest.raises(DeviceError, match="damaged: its SHA-256 sum"):
        find_bitstream(tmp_path, BOARD, HLS, PYNQ)
    path.unlink()
    with pytest.raises(DeviceError, match="cannot be read"):
        find_bitstream(tmp_path, BOARD, HLS, PYNQ)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"sha256": "ABC"}, r"bitstreams\[0\]: sha256 = 'ABC'; allowed: 64 hexadecimal digits"),
        ({"file": "../x"}, r"file = '../x'; allowed: paths below"),
        ({"file": 3}, r"file = 3; allowed: strings"),
        ({"colour": "red"}, r"field colour is unknown"),
    ],
)
def test_malformed_entries_are_named(file, tmp_path, change, text):
    add_bitstream(tmp_path, BOARD, HLS, PYNQ, file, "a test")
    values = json.loads((tmp_path / MANIFEST).read_text())
    values["bitstreams"][0] |= change
    (tmp_path / MANIFEST).write_text(json.dumps(values))
    with pytest.raises(ConfigError, match=text):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"version": 2, "bitstreams": []}', '{"version": 1}', '{"version": 1, "bitstreams": [3]}']
)
def test_malformed_manifests_are_named(tmp_path, text):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(ConfigError, match=MANIFEST):
        read_manifest(tmp_path)


def test_the_shipped_manifest_is_good():
    assert read_manifest(shipped_boards()["pynq-z1"].parents[1]) == ()
