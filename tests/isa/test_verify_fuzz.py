"""Streams that make no sense: the verifier says so and nothing worse."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.isa.strategies import configs, instruction_arrays
from vta.config.targets import MemoryType
from vta.isa import Opcode, encode
from vta.isa.findings import FindingKind
from vta.isa.verify import verify_stream

SMALL = {"dram_base": 300, "sram_base": 24, "x_size": 5, "y_size": 4, "x_stride": 9, "uop_bgn": 3, "uop_end": 12, "iter_out": 5}


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_stream_gets_a_verdict(data):
    hw = data.draw(configs)
    instructions = data.draw(instruction_arrays(hw))
    if data.draw(st.booleans()):
        for name, limit in SMALL.items():
            instructions[name] %= limit
    if data.draw(st.booleans()):
        stores = instructions["opcode"] == Opcode.STORE
        instructions["memory_type"] = np.where(stores, MemoryType.OUT, instructions["memory_type"] % 4)
        for pad in ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1"):
            instructions[pad] *= ~stores & (instructions["x_size"] > 0)
        instructions["alu_opcode"] %= 5
    memory = {0: np.frombuffer(data.draw(st.binary(min_size=64, max_size=64)) * 512, dtype=np.uint8)}
    findings = verify_stream(instructions, hw, memory)
    assert all(finding.message for finding in findings)
    assert all(finding.instruction is None or 0 <= finding.instruction < len(instructions) for finding in findings)
    encode(instructions, hw)
    assert not any("does not fit" in finding.message for finding in findings if finding.kind is FindingKind.FIELD)
