"""How a program is arranged beside its schedules, where a config with the requantize unit leaves a choice: by the cycle engine.

What is better depends on how the units happen to wait for each other, which no estimate knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vta.codegen.emit_operators import ARRANGEMENTS, Arrangement, emit_operators
from vta.codegen.interleave import Pair
from vta.codegen.tokens import encoded_with_tokens
from vta.config.hardware import HardwareConfig
from vta.schedule.schedule import Schedule
from vta.tile.operator import TileOperator

__all__ = ["fastest_arrangement"]


def fastest_arrangement(
    operators: Sequence[TileOperator],
    schedules: Sequence[Schedule | None],
    pairs: Sequence[Pair],
    addresses: Mapping[str, int],
    arena: int,
    hw: HardwareConfig,
) -> Arrangement:
    """That in which a region takes the fewest cycles; the first of those that take as many.

    `arena` is how many output elements its arena has. Raises `CompileError` if something does not fit.
    """
    if not hw.capabilities.requantize:
        return ARRANGEMENTS[0]
    from vta.devices.cycle import CycleDevice

    device = CycleDevice(hw, timing_only=True)

    def cycles(arrangement: Arrangement) -> int:
        stream = emit_operators(operators, schedules, pairs, addresses, hw, keeps_data=False, arrangement=arrangement).stream
        found = device.run(encoded_with_tokens(stream, arena)).cycles
        assert found is not None, "the cycle device counts cycles"
        return found

    return min(ARRANGEMENTS, key=cycles)
