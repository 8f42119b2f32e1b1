"""Random programs for tests of time: legal in their tokens, without regard to data."""

from __future__ import annotations

from hypothesis import strategies as st

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.isa import Opcode, blank_instructions

CONFIGS = (
    HardwareConfig("sim", "0.0.2", 3, 3, 5, 0, 4, 15, 15, 18, 17),
    HardwareConfig("sim", "0.0.2", 3, 3, 5, 2, 3, 15, 16, 16, 18),
    HardwareConfig("sim", "0.0.2", 3, 3, 5, 0, 2, 8, 9, 9, 10),
    HardwareConfig("sim", "0.0.2", 3, 3, 4, 1, 4, 12, 14, 16, 15),
    HardwareConfig("sim", "0.0.2", 3, 3, 5, 0, 5, 15, 15, 18, 17),
)

_FLAGS = {
    "load": (("pop_next", "c2l"), ("push_next", "l2c")),
    "compute": (("pop_prev", "l2c"), ("pop_next", "s2c"), ("push_prev", "c2l"), ("push_next", "c2s")),
    "store": (("pop_prev", "c2s"), ("push_prev", "s2c")),
}
_LOADS = {"load": (MemoryType.INP, MemoryType.WGT), "compute": (MemoryType.UOP, MemoryType.ACC, MemoryType.ACC_8BIT)}
_PADS = ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")


@st.composite
def timings(draw) -> TimingParameters:
    bus_bits = draw(st.sampled_from((64, 64, 128, 256, 512)))
    longest = min(64, 4096 * 8 // bus_bits)
    burst = 1 << draw(st.integers(0, longest.bit_length() - 1))
    fifo = st.integers(burst, 2 * burst + 3)
    return TimingParameters(
        bus_bits=bus_bits,
        burst_beats=burst,
        read_latency=draw(st.integers(1, 25)),
        write_latency=draw(st.sampled_from((1, 2, 9, 40))),
        beat_interval=draw(st.sampled_from((1, 1, 1, 2, 3, 7))),
        queue_depth=draw(st.sampled_from((2, 3, 512))),
        load_fifo=draw(fifo),
        acc_fifo=draw(fifo),
        fetch_fifo=max(2, draw(fifo)),
        load_ahead=draw(st.integers(1, 4)),
        store_ahead=draw(st.integers(1, 4)),
        token_limit=draw(st.sampled_from((1, 2, 255, 255, 255))),
    )


def _transfer(draw, hw, row, memory) -> None:
    row["memory_type"] = memory
    row["dram_base"] = draw(st.integers(0, 3000))
    row["x_size"], row["y_size"] = draw(st.sampled_from((0, 1, 1, 2, 3, 9, 40))), draw(st.sampled_from((0, 1, 1, 1, 2, 5)))
    row["x_stride"] = draw(st.sampled_from((0, 1, 3, 40, 100)))
    if memory is not MemoryType.OUT and draw(st.booleans()):
        for pad in _PADS:
            row[pad] = draw(st.integers(0, 3))
    width = row["x_pad_0"] + row["x_size"] + row["x_pad_1"]
    if width * (row["y_pad_0"] + row["y_size"] + row["y_pad_1"]) > hw.depth(memory):
        for pad in _PADS:
            row[pad] = 0
        row["x_size"] = row["y_size"] = 1


def _uops(draw, row) -> None:
    row["opcode"] = draw(st.sampled_from((Opcode.GEMM, Opcode.ALU)))
    row["uop_end"] = draw(st.integers(0, 5))
    row["uop_bgn"] = draw(st.integers(0, 2))
    row["iter_out"], row["iter_in"] = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    if row["opcode"] == Opcode.ALU:
        row["use_imm"] = draw(st.booleans())


@st.composite
def programs(draw, hw: HardwareConfig, largest: int = 14):
    """In program order every token that is popped was pushed before, so that no order deadlocks."""
    count = draw(st.integers(0, largest))
    rows = blank_instructions(count + 1)
    tokens = dict.fromkeys(("l2c", "c2l", "c2s", "s2c"), 0)
    for row in rows[:count]:
        unit = draw(st.sampled_from(("load", "compute", "compute", "store")))
        if unit == "compute" and draw(st.booleans()):
            _uops(draw, row)
        else:
            row["opcode"] = Opcode.STORE if unit == "store" else Opcode.LOAD
            _transfer(draw, hw, row, MemoryType.OUT if unit == "store" else draw(st.sampled_from(_LOADS[unit])))
        for flag, queue in _FLAGS[unit]:
            pops = flag.startswith("pop")
            if (not pops or tokens[queue]) and draw(st.booleans()):
                row[flag] = 1
                tokens[queue] += -1 if pops else 1
    rows["opcode"][count] = Opcode.FINISH
    if draw(st.integers(0, 9)) == 0:  # something behind FINISH, still under way when the run ends
        place = draw(st.integers(0, count))
        rows[[place, count]] = rows[[count, place]]
    return rows
