"""How the RTL reads instructions, micro-ops and elements: as the encoder wrote them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from tests.hardware.programs import small_config
from vta.config.targets import MemoryType
from vta.hardware.layouts import element_layout, instruction_layout, uop_layout
from vta.isa import UOP_DTYPE, blank_instructions, encode, encode_uops
from vta.isa.encoding import instruction_fields, uop_fields

CONFIGS = [small_config(0, 2, 5), small_config(1, 3, 4), small_config(2, 2, 4, (3, 2, 3, 3))]


def word(encoded):
    return int.from_bytes(encoded.tobytes(), "little")


@settings(max_examples=30)
@given(st.data())
def test_instructions(data):
    hw = data.draw(st.sampled_from(CONFIGS))
    opcode, layout = data.draw(st.sampled_from(list(instruction_fields(hw).items())))
    fields = {field.name: field for field in layout}
    instruction = blank_instructions(1)
    for name, field in fields.items():
        instruction[name] = data.draw(st.integers(field.minimum, field.maximum))
    instruction["opcode"] = opcode
    read = instruction_layout(hw).from_bits(word(encode(instruction, hw)))[opcode.name.lower()]
    assert {name: read[name] for name in fields} == {name: instruction[name][0] for name in fields}


@given(st.data())
def test_micro_ops(data):
    hw = data.draw(st.sampled_from(CONFIGS))
    uop = np.zeros(1, UOP_DTYPE)
    for field in uop_fields(hw):
        uop[field.name] = data.draw(st.integers(field.minimum, field.maximum))
    read = uop_layout(hw).from_bits(word(encode_uops(uop, hw)))
    assert {field.name: read[field.name] for field in uop_fields(hw)} == {f.name: uop[f.name][0] for f in uop_fields(hw)}


@pytest.mark.parametrize("hw", CONFIGS)
@pytest.mark.parametrize("memory", [memory for memory in MemoryType if memory not in (MemoryType.UOP, MemoryType.TABLE)])
def test_elements(hw, memory):
    dtype = np.dtype(f"i{hw.acc_bits // 8}" if memory is MemoryType.ACC else "i1")
    values = np.random.default_rng(0).integers(-100, 100, hw.elem_bytes(memory) // dtype.itemsize).astype(dtype)
    read = element_layout(hw, memory).from_bits(word(values))
    if memory in (MemoryType.INP, MemoryType.WGT):
        assert len(read) == (hw.batch if memory is MemoryType.INP else hw.block)
        read = [scalar for row in read for scalar in row]
    assert list(read) == values.tolist()
