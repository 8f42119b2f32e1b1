"""The text of a region at the tile level, with the schedules of its operators and what these take on chip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.errors import TileTextError
from vta.schedule.resources import Buffers, resources
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.operator import RegionOperators, TileOperator
from vta.tile.text.parser import parse_operators
from vta.tile.text.printer import Remarks, print_operators

__all__ = ["ParsedRegion", "parse_region", "print_region"]

_OPTIONAL = "turns"
"""The field of a schedule that texts leave out where it is 0."""


@dataclass(frozen=True)
class ParsedRegion:
    """A region and the schedules of its operators, None for those that have none."""

    region: RegionOperators
    schedules: tuple[Schedule | None, ...]


def print_region(region: RegionOperators, schedules: Sequence[Schedule | None], hw: HardwareConfig) -> str:
    """The text of a region that runs on `hw` by `schedules`, one for each operator, None for those that have none.

    Weights and values per channel are printed by shape and digest. `parse_region` reads it, and what it reads prints the same.
    """
    pairs = zip(region.operators, schedules, strict=True)
    return print_operators(region, [_remarks(operator, schedule, hw) for operator, schedule in pairs], [f"for {hw.model}"])


def parse_region(text: str, constants: Mapping[str, NDArray[Any]] | None = None, source: str = "tile text") -> ParsedRegion:
    """Parse what `print_region` prints; comments are passed over. `constants` are arrays by digest.

    A constant that is not among these is an `UnknownConstant`: zeros of its shape that print as the constant did. With all that
    `vta.tile.text.constants.constants_of` gives for the operators, the result is the same operators.
    Raises `TileTextError` naming `source`, the line and column, what is there, and what may be.
    """
    parsed = parse_operators(text, constants, source)
    operators = zip(parsed.region.operators, parsed.schedules, strict=True)
    return ParsedRegion(parsed.region, tuple(_schedule(operator, values, source) for operator, values in operators))


def _schedule(operator: TileOperator, values: Mapping[str, int] | None, source: str) -> Schedule | None:
    if values is None:
        return None
    types = {field.name: field.type for field in fields(Schedule)}
    missing, unknown = sorted(types.keys() - values.keys() - {_OPTIONAL}), sorted(values.keys() - types.keys())
    if missing or unknown:
        said = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(unknown)}"
        raise TileTextError(f"{source}: {operator.name}: the schedule {said}; allowed: {', '.join(types)}, each once")
    for name, value in values.items():
        if (value not in (0, 1)) if types[name] == "bool" else value < 1:
            allowed = "0 or 1" if types[name] == "bool" else "at least 1"
            raise TileTextError(f"{source}: {operator.name}: {name} of the schedule is {value}; allowed: {allowed}")
    typed: dict[str, Any] = {name: bool(value) if types[name] == "bool" else value for name, value in values.items()}
    return Schedule(**typed)


def _remarks(operator: TileOperator, schedule: Schedule | None, hw: HardwareConfig) -> Remarks:
    gemm = operator.scheduled
    if gemm is not None and schedule is not None:
        need = resources(gemm.laid_out(schedule), schedule, Buffers.of(hw))
        comment = (
            f"on chip: input {schedule.inp_slots} x {need.inp_slot} rows, "
            f"weights {schedule.wgt_slots} x {need.wgt_slot} + {need.wgt_fixed} blocks, "
            f"accumulator {schedule.acc_slots} x {need.acc_slot} + {need.vectors} rows"
        )
        named = {name: int(value) for name, value in asdict(schedule).items() if name != _OPTIONAL or value}
        return Remarks(named, (comment,))
    return Remarks(comments=operator.remarks(hw))
