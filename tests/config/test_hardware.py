import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.isa.strategies import SHIPPED, random_configs
from vta.config.hardware import HardwareConfig, load_config
from vta.config.targets import TARGETS, MemoryType
from vta.errors import ConfigError

BASELINE = {
    "TARGET": "sim",
    "HW_VER": "0.0.2",
    "LOG_INP_WIDTH": 3,
    "LOG_WGT_WIDTH": 3,
    "LOG_ACC_WIDTH": 5,
    "LOG_BATCH": 0,
    "LOG_BLOCK": 4,
    "LOG_UOP_BUFF_SIZE": 15,
    "LOG_INP_BUFF_SIZE": 15,
    "LOG_WGT_BUFF_SIZE": 18,
    "LOG_ACC_BUFF_SIZE": 17,
}
MEMORIES = (MemoryType.INP, MemoryType.WGT, MemoryType.ACC, MemoryType.UOP)


def refused(tmp_path: Path, text: str) -> str:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message


def test_baseline_derives_the_published_sizes():
    hw = HardwareConfig.from_json(BASELINE)
    assert [hw.depth(memory) for memory in (*MEMORIES, MemoryType.OUT)] == [2048, 1024, 2048, 8192, 2048]
    assert [hw.elem_bytes(memory) for memory in (*MEMORIES, MemoryType.OUT)] == [16, 256, 64, 4, 16]
    assert hw.elem_bytes(MemoryType.ACC_8BIT) == 16
    assert (hw.batch, hw.block, hw.acc_bits, hw.log_out_buff_size) == (1, 16, 32, 15)
    assert hw.bitstream == "1x16_i8w8a32_15_15_18_17"
    assert hw.model == "sim_1x16_i8w8a32_15_15_18_17"
    assert hw.to_json() == BASELINE


def test_second_published_geometry():
    changes = {"LOG_BATCH": 2, "LOG_BLOCK": 3, "LOG_INP_BUFF_SIZE": 16, "LOG_WGT_BUFF_SIZE": 16, "LOG_ACC_BUFF_SIZE": 18}
    hw = HardwareConfig.from_json(BASELINE | changes)
    assert hw.bitstream == "4x8_i8w8a32_15_16_16_18"
    assert [hw.depth(memory) for memory in MEMORIES] == [2048, 1024, 2048, 8192]
    assert [hw.elem_bytes(memory) for memory in (*MEMORIES, MemoryType.OUT)] == [32, 64, 128, 4, 32]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_configs_load(path):
    hw = load_config(path)
    assert json.loads(path.read_text()) == hw.to_json()
    assert hw.model.startswith(f"{hw.target}_{hw.batch}x{hw.block}_i8w8a")


def test_every_published_target_has_a_shipped_config():
    assert {"sim", "cycle", "pynq", "ultra96", "zcu104", "de10nano", "intelfocl"} <= {path.stem for path in SHIPPED}


ACCEPTED = {
    "K0": ({}, (2048, 1024, 2048, 8192)),
    "K1": (
        {"LOG_BATCH": 2, "LOG_BLOCK": 3, "LOG_INP_BUFF_SIZE": 16, "LOG_WGT_BUFF_SIZE": 16, "LOG_ACC_BUFF_SIZE": 18},
        (2048, 1024, 2048, 8192),
    ),
    "K2": ({"LOG_BLOCK": 5}, (1024, 256, 1024, 8192)),
    "K3": ({"LOG_BLOCK": 6}, (512, 64, 512, 8192)),
    "K9": ({"LOG_INP_BUFF_SIZE": 10, "LOG_WGT_BUFF_SIZE": 12, "LOG_ACC_BUFF_SIZE": 12}, (64, 16, 64, 8192)),
    "K10": ({"LOG_ACC_WIDTH": 4, "LOG_ACC_BUFF_SIZE": 16}, (2048, 1024, 2048, 8192)),
    "K11": ({"LOG_BATCH": 1}, (1024, 1024, 1024, 8192)),
    "K12": ({"LOG_UOP_BUFF_SIZE": 6}, (2048, 1024, 2048, 16)),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_configs_that_encode_are_accepted(name):
    changes, depths = ACCEPTED[name]
    hw = HardwareConfig.from_json(BASELINE | changes)
    assert tuple(hw.depth(memory) for memory in MEMORIES) == depths


REFUSED = {
    "K4": ({"LOG_UOP_BUFF_SIZE": 16}, ["gemm_low needs 65 bits and has 64 (LOG_UOP_BUFF_SIZE = 16)"]),
    "K5": (
        {"LOG_ACC_BUFF_SIZE": 18},
        ["uop_word needs 34 bits and has 32", "gemm_high needs 66 bits and has 64", "alu_high needs 68 bits and has 64"],
    ),
    "K6": (
        {"LOG_BLOCK": 3},
        ["uop_word needs 36 bits and has 32", "gemm_high needs 72 bits and has 64", "alu_high needs 68 bits and has 64"],
    ),
    "K7": (
        {"LOG_WGT_WIDTH": 2},
        ["LOG_WGT_WIDTH = 2 (4-bit scalars) is out of range; allowed: 3", "uop_word needs 33 bits", "gemm_high needs 66 bits"],
    ),
    "K7b": ({"LOG_WGT_WIDTH": 2, "LOG_WGT_BUFF_SIZE": 17}, ["LOG_WGT_WIDTH = 2 (4-bit scalars) is out of range; allowed: 3"]),
    "K8": ({"LOG_WGT_WIDTH": 1, "LOG_WGT_BUFF_SIZE": 16}, ["LOG_WGT_WIDTH = 1 (2-bit scalars) is out of range; allowed: 3"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_configs_that_do_not_encode_name_key_and_width(name, tmp_path):
    changes, words = REFUSED[name]
    message = refused(tmp_path, json.dumps(BASELINE | changes))
    assert all(word in message for word in words)
    named = "LOG_WGT_WIDTH" if "LOG_WGT_WIDTH" in changes else next(iter(changes))
    assert f"{named} = {changes[named]}" in message
    assert message.count("needs") == sum("needs" in word for word in words)


@pytest.mark.parametrize("key", BASELINE)
def test_missing_key(key, tmp_path):
    values = {name: value for name, value in BASELINE.items() if name != key}
    assert f"key {key} is missing" in refused(tmp_path, json.dumps(values))


NUMBERS = [key for key, value in BASELINE.items() if isinstance(value, int)]


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("4", "'4' is not an integer"),
        (4.5, "4.5 is not an integer"),
        (4.0, "4.0 is not an integer"),
        (True, "True is not an integer"),
        (None, "None is not an integer"),
        ([4], "[4] is not an integer"),
        (-1, "-1 is out of range"),
        (10**30, f"{10**30} is out of range"),
    ],
)
def test_values_of_the_wrong_type_or_range(key, value, problem, tmp_path):
    message = refused(tmp_path, json.dumps(BASELINE | {key: value}))
    assert f"{key} = {problem}; allowed: " in message


@pytest.mark.parametrize("key", ["TARGET", "HW_VER"])
def test_strings_must_be_strings(key, tmp_path):
    assert f"{key} = 7 is not a string" in refused(tmp_path, json.dumps(BASELINE | {key: 7}))


def test_unknown_target(tmp_path):
    message = refused(tmp_path, json.dumps(BASELINE | {"TARGET": "pink"}))
    assert f"TARGET = 'pink' is unknown; allowed: {', '.join(TARGETS)}" in message


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("LOG_BACH", "LOG_BATCH"), ("log_block", "LOG_BLOCK"), ("LOG_INP_BUF_SIZE", "LOG_INP_BUFF_SIZE"), ("HWVER", "HW_VER")],
)
def test_misspelt_key_suggests_the_right_one(wrong, right, tmp_path):
    values = {wrong if key == right else key: value for key, value in BASELINE.items()}
    message = refused(tmp_path, json.dumps(values))
    assert f"unknown key {wrong} = {BASELINE[right]!r}; did you mean {right}?; allowed keys: TARGET, HW_VER" in message


def test_key_like_no_other_gets_no_suggestion(tmp_path):
    message = refused(tmp_path, json.dumps(BASELINE | {"COLOUR": "red"}))
    assert "unknown key COLOUR = 'red'; allowed keys: " in message


def test_duplicate_key(tmp_path):
    text = json.dumps(BASELINE)[:-1] + ', "LOG_BATCH": 1}'
    assert "key LOG_BATCH is given twice: 0 and 1" in refused(tmp_path, text)


def test_trailing_comma(tmp_path):
    assert "not JSON: " in refused(tmp_path, json.dumps(BASELINE)[:-1] + ",}")


@pytest.mark.parametrize("text", ["[]", "3", '"sim"', "null"])
def test_json_that_is_not_an_object(text, tmp_path):
    assert "expected a JSON object, got " in refused(tmp_path, text)


def test_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match=rf"{re.escape(str(tmp_path / 'none.json'))}: cannot be read: "):
        load_config(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read: "):
        load_config(tmp_path / "binary.json")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"LOG_UOP_BUFF_SIZE": 2}, "LOG_UOP_BUFF_SIZE = 2 holds 1 elements of this geometry; at least 2 are needed"),
        ({"LOG_WGT_BUFF_SIZE": 6}, "LOG_WGT_BUFF_SIZE = 6 holds 0.25 elements"),
        ({"LOG_INP_BUFF_SIZE": 30}, "LOG_INP_BUFF_SIZE = 30 makes 2^26 rows; an sram_base field addresses at most 2^16"),
        ({"LOG_BATCH": 5, "LOG_BLOCK": 6, "LOG_ACC_BUFF_SIZE": 20}, "one ACC element is 8192 bytes; the limit is 4096"),
    ],
)
def test_buffers_hold_a_sensible_number_of_elements(changes, words, tmp_path):
    assert words in refused(tmp_path, json.dumps(BASELINE | changes))


def test_uop_depth_follows_the_target():
    hw = HardwareConfig.from_json(BASELINE)
    assert hw.uop_depth == 8192
    assert replace(hw, target="tsim").uop_depth == 2048
    assert replace(hw, target="tsim", log_uop_buff_size=10).uop_depth == 256


def test_options_are_off_where_a_file_has_none():
    hw = HardwareConfig.from_json(BASELINE)
    assert hw == HardwareConfig.from_json(BASELINE | {"REQUANTIZE_UNIT": 0, "TABLE_UNIT": 0})
    assert hw.to_json() == BASELINE
    assert not hw.capabilities.requantize
    full = HardwareConfig.from_json(BASELINE | {"REQUANTIZE_UNIT": 1, "TABLE_UNIT": 1, "DEPTHWISE_UNIT": 1})
    assert HardwareConfig.from_json(full.to_json()) == full
    assert full.bitstream == f"{hw.bitstream}_rq_tab_dw"
    assert HardwareConfig.from_json(
        BASELINE | {"LOG_ACC_WIDTH": 4, "LOG_ACC_BUFF_SIZE": 16, "DEPTHWISE_UNIT": 1}
    ).capabilities.depthwise
    assert full.capabilities.requantize
    assert full.capabilities.table


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"REQUANTIZE_UNIT": 2}, "REQUANTIZE_UNIT = 2 is out of range; allowed: 0 to 1"),
        ({"TABLE_UNIT": 1}, "TABLE_UNIT = 1 takes REQUANTIZE_UNIT = 1, not 0"),
        ({"REQUANTIZE_UNIT": 1, "TARGET": "pynq"}, "REQUANTIZE_UNIT = 1, but TARGET = pynq cannot have it; allowed with it: sim"),
        ({"REQUANTIZE_UNIT": 1, "LOG_ACC_WIDTH": 4}, "REQUANTIZE_UNIT = 1 takes LOG_ACC_WIDTH = 5, not 4"),
        ({"REQUANTISE_UNIT": 1}, "did you mean REQUANTIZE_UNIT?"),
    ],
)
def test_options_that_cannot_be(changes, words, tmp_path):
    assert words in refused(tmp_path, json.dumps(BASELINE | changes))


def test_construction_checks_as_loading_does():
    with pytest.raises(ConfigError, match="LOG_BLOCK = 9 is out of range"):
        replace(HardwareConfig.from_json(BASELINE), log_block=9)


@settings(deadline=None, max_examples=50)
@given(random_configs())
def test_legal_configs_round_trip_and_fit(hw):
    assert HardwareConfig.from_json(hw.to_json()) == hw
    acc, inp, wgt, uop = (hw.log_depth[memory] for memory in (MemoryType.ACC, MemoryType.INP, MemoryType.WGT, MemoryType.UOP))
    assert acc + max(acc, inp) + wgt <= 32
    assert acc + inp + wgt <= 32
    assert acc <= 11
    assert uop <= 13
    assert hw.elem_bytes(MemoryType.WGT) == hw.block**2
    assert hw.elem_bytes(MemoryType.ACC) == hw.batch * hw.block * hw.acc_bits // 8
