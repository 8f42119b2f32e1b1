import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.isa.strategies import SHIPPED, configs, instruction_arrays, uop_arrays
from vta.config.hardware import load_config
from vta.config.targets import MemoryType
from vta.errors import EncodingError
from vta.isa import AluOp, Opcode, blank_instructions, decode, decode_uops, encode, encode_uops
from vta.isa.encoding import all_fit, instruction_fields

GOLDEN = {
    "load": (
        "4321333322221111_0048d159e2af3578",
        {"opcode": Opcode.LOAD, "pop_prev": 1, "pop_next": 1, "push_prev": 1, "push_next": 1, "memory_type": MemoryType.INP}
        | {"sram_base": 0xABCD, "dram_base": 0x12345678, "y_size": 0x1111, "x_size": 0x2222, "x_stride": 0x3333}
        | {"y_pad_0": 1, "y_pad_1": 2, "x_pad_0": 3, "x_pad_1": 4},
    ),
    "gemm": (
        "9e1678acd151a123_157891a3ffe0056a",
        {"opcode": Opcode.GEMM, "pop_prev": 1, "push_prev": 1, "push_next": 1, "uop_bgn": 5, "uop_end": 0x1FFF}
        | {"iter_out": 0x1234, "iter_in": 0x0ABC, "dst_factor_out": 0x123, "dst_factor_in": 0x234}
        | {"src_factor_out": 0x345, "src_factor_in": 0x456, "wgt_factor_out": 0x167, "wgt_factor_in": 0x278},
    ),
    "alu": (
        "fffbb808c0d01101_0026008c00000354",
        {"opcode": Opcode.ALU, "pop_next": 1, "push_next": 1, "uop_bgn": 3, "uop_end": 8192, "iter_out": 17, "iter_in": 19}
        | {"dst_factor_out": 0x101, "dst_factor_in": 0x202, "src_factor_out": 0x303, "src_factor_in": 0x404}
        | {"alu_opcode": AluOp.SHR, "use_imm": 1, "imm": -5},
    ),
    "store": (
        "0000000900050003_002eb72bf8001e29",
        {"opcode": Opcode.STORE, "pop_prev": 1, "push_prev": 1, "memory_type": MemoryType.OUT}
        | {"sram_base": 7, "dram_base": 0x0BADCAFE, "y_size": 3, "x_size": 5, "x_stride": 9},
    ),
    "gemm reset": (
        "0180500800c01001_0002000800200082",
        {"opcode": Opcode.GEMM, "reset": 1, "uop_end": 1, "iter_out": 1, "iter_in": 1, "dst_factor_out": 1, "dst_factor_in": 2}
        | {"src_factor_out": 3, "src_factor_in": 4, "wgt_factor_out": 5, "wgt_factor_in": 6},
    ),
    "alu mul": (
        "0000400000001001_000600100040007c",
        {
            "opcode": Opcode.ALU,
            "pop_prev": 1,
            "pop_next": 1,
            "push_prev": 1,
            "push_next": 1,
            "uop_end": 2,
            "iter_out": 2,
            "iter_in": 3,
        }
        | {"dst_factor_out": 1, "dst_factor_in": 2, "alu_opcode": AluOp.MUL},
    ),
}


@pytest.fixture(scope="module")
def hw():
    return load_config(next(path for path in SHIPPED if path.name == "sim.json"))


def words(data):
    return [f"{high:016x}_{low:016x}" for low, high in data.view("<u8").reshape(-1, 2).tolist()]


@pytest.mark.parametrize("name", GOLDEN)
def test_published_encodings(name, hw):
    expected, fields = GOLDEN[name]
    instruction = blank_instructions(1)
    for field, value in fields.items():
        instruction[field] = value
    data = encode(instruction, hw)
    assert words(data) == [expected]
    assert np.array_equal(decode(data, hw), instruction)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_instructions_round_trip(data):
    hw = data.draw(configs)
    instructions = data.draw(instruction_arrays(hw))
    assert np.array_equal(decode(encode(instructions, hw), hw), instructions)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_uops_round_trip(data):
    hw = data.draw(configs)
    uops = data.draw(uop_arrays(hw))
    encoded = encode_uops(uops, hw)
    assert np.array_equal(decode_uops(encoded, hw), uops)
    assert encoded.dtype == np.uint32


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_undefined_bits_are_ignored(data):
    hw = data.draw(configs)
    noise = np.frombuffer(data.draw(st.binary(min_size=16, max_size=16)), dtype=np.uint8).copy()
    noise[0] = noise[0] & 0xF8 | data.draw(st.sampled_from(tuple(instruction_fields(hw))))
    once = decode(noise[None], hw)
    assert np.array_equal(decode(encode(once, hw), hw), once)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_field_is_checked_at_its_limits(path):
    from vta.isa.encoding import instruction_fields

    hw = load_config(path)
    for opcode, layout in instruction_fields(hw).items():
        for field in layout[1:]:
            for value, fits in (
                (field.minimum, True),
                (field.maximum, True),
                (field.minimum - 1, False),
                (field.maximum + 1, False),
            ):
                instruction = blank_instructions(1)
                instruction["opcode"], instruction[field.name] = opcode, value
                assert all_fit(instruction, hw) is fits
                if fits:
                    assert decode(encode(instruction, hw), hw)[field.name][0] == value
                else:
                    message = rf"instruction 0 \({opcode.name}\): {field.name} = {value} does not fit; allowed: "
                    with pytest.raises(EncodingError, match=message):
                        encode(instruction, hw)


def test_unknown_opcode_is_refused(hw):
    instruction = blank_instructions(2)
    instruction["opcode"] = (Opcode.FINISH, 6)
    assert not all_fit(instruction, hw)
    with pytest.raises(EncodingError, match="instruction 1: opcode 6 is unknown"):
        encode(instruction, hw)
    data = np.full((1, 16), 0xFF, dtype=np.uint8)
    with pytest.raises(EncodingError, match="instruction 0: opcode 7 is unknown"):
        decode(data, hw)


def test_uop_that_does_not_fit_is_refused(hw):
    from vta.isa import UOP_DTYPE

    uops = np.array([(0, 0, 0), (2048, 0, 0)], dtype=UOP_DTYPE)
    with pytest.raises(EncodingError, match="micro-op 1: dst = 2048 does not fit; allowed: 0 to 2047"):
        encode_uops(uops, hw)
