"""Programs on the whole core: bits against the ISA reference, cycles and counters against the timing reference."""

import numpy as np

from tests.hardware.bench import Bench
from vta.config import HardwareConfig
from vta.isa.assembly import assemble_instructions
from vta.timing import TimingParameters


def test_worked_example():
    hw = HardwareConfig("rtl", "0.0.2", 3, 3, 5, 0, 4, 6, 8, 11, 10)
    text = """
        load inp sram=0 dram=128 y=1 x=4 stride=4 push=next
        gemm uop=0:1 loop=1,4 dst=0,1 src=0,1 wgt=0,0 pop=prev
        finish
    """
    program = assemble_instructions(text, hw)
    run = Bench(hw, TimingParameters()).run(program, np.zeros(4096, np.uint8), 0)
    assert run.registers["cycles"] == 58
    assert run.registers["gemm_uops"] == 4
    assert run.registers["inp_bytes"] == 64
    assert run.registers["read_beats"] == 14
    assert run.units["load"] == {"busy": 8, "memory": 17, "token": 0, "idle": 33}
