"""How a core is built for a kind of FPGA. None of this changes a result or a cycle."""

from __future__ import annotations

from dataclasses import dataclass

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters

__all__ = ["PLAIN", "Fabric", "fabrics_for"]

_DSP48_FAMILIES = ("xilinx", "ultrascale", "zynq-7000", "zynq-ultrascale+")
_BANKS = (2, 4)
_LEAST_ROWS = 2
"""Of a bank."""


@dataclass(frozen=True)
class Fabric:
    """What the generator may make use of."""

    dsp48: bool = False
    """Multipliers of 25 x 18 bits with an adder before and behind: two 8-bit products in one."""
    split_products: bool = False
    """MUL of 32 bits in two of them, and the rest in logic; otherwise in three."""
    accumulator_banks: int = 0
    """Two rows are read in a cycle from so many banks and their exclusive or (`CodedMemory`); 0: from two copies."""


PLAIN = Fabric()
"""What every FPGA and every simulator can do."""


def fabrics_for(family: str, hw: HardwareConfig, timing: TimingParameters) -> tuple[Fabric, ...]:
    """Return how the core of `hw` can be built for `family`, those with little logic first.

    `family` is the FPGA family of a board (`vta.boards.description.FAMILIES`) or of the synthesis; others have the plain one.
    """
    if family not in _DSP48_FAMILIES:
        return (PLAIN,)
    one_row_a_beat = hw.elem_bytes(MemoryType.ACC_8BIT) >= timing.bus_bytes
    rows = 1 << hw.log_depth[MemoryType.ACC]
    banks = [banks for banks in _BANKS if one_row_a_beat and rows >= banks * _LEAST_ROWS]
    # The requantize unit takes whole products.
    splits = (False,) if hw.requantize_unit else (False, True)
    return tuple(Fabric(True, split, number) for split in splits for number in banks or (0,))
