"""Whether the cost of a record can be true."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError, TuningError
from vta.records.least_cycles import least_workload_cycles
from vta.records.log import Record, read_log
from vta.records.measurement import Measured
from vta.support.shorten import printable, shown

__all__ = ["believable_records", "config_of_model", "cost_problem"]

_LOG = logging.getLogger(__name__)

_SIZE = r"([1-9][0-9]{0,5})"
_LOGARITHM = r"([0-9]{1,3})"
_MODEL = re.compile(
    rf"(\w+?)_{_SIZE}x{_SIZE}_i{_SIZE}w{_SIZE}a{_SIZE}_{'_'.join([_LOGARITHM] * 4)}((?:_rq)?)((?:_tab)?)((?:_dw)?)", re.ASCII
)


@cache
def config_of_model(model: str) -> HardwareConfig:
    """The config that a model name such as ``pynq_1x16_i8w8a32_15_15_18_17`` stands for.

    Raises `TuningError` if it is not of that form, or stands for hardware that cannot be.
    """
    match = _MODEL.fullmatch(model)
    if match is None:
        raise TuningError(f"model {shown(model)} is not of the form pynq_1x16_i8w8a32_15_15_18_17")
    target, *numbers, requantizes, looks_up, depthwise = match.groups()
    batch, block, inp, wgt, acc, *sizes = map(int, numbers)
    logs = [value.bit_length() - 1 for value in (inp, wgt, acc, batch, block)]
    if any(1 << log != value for log, value in zip(logs, (inp, wgt, acc, batch, block), strict=True)):
        raise TuningError(f"model {shown(model)}: widths, BATCH and BLOCK must be powers of two")
    try:
        hw = HardwareConfig(target, "0.0.0", *logs, *sizes)
        given = [int(bool(suffix)) for suffix in (requantizes, looks_up, depthwise)]
        return replace(hw, requantize_unit=given[0], table_unit=given[1], depthwise_unit=given[2])
    except ConfigError as error:
        raise TuningError(f"model {shown(model)}: {error}") from None


def believable_records(path: str | Path, say: Callable[[str], None] | None = None) -> list[Record]:
    """The records of a log whose costs can be true. `say` is told of each other line, with file and number; by default a warning.

    Whether their knobs are any good shows when an operator is there to have them. Raises `TuningError` if the log cannot be read.
    """
    say = _LOG.warning if say is None else say
    records = []
    for line in read_log(path):
        problem = line.problem if line.record is None else cost_problem(line.record)
        if problem:
            say(f"{path}:{line.number}: skipped: {problem}")
        elif line.record is not None:
            records.append(line.record)
    return records


def cost_problem(record: Record) -> str:
    """Why the cost of a record cannot be true; empty if it can."""
    if not record.costs or record.error or not record.model:
        return ""
    if record.measured is Measured.SIMULATION_SECONDS:
        device = printable(record.device, 40)
        return f"its cost is what device {device} took to simulate, without cycles: it says nothing of the hardware"
    try:
        hw = config_of_model(record.model)
        least = least_workload_cycles(record.workload, hw)
        # Whoever published records had weights without many zeros; cycles that we counted may be of a network that was pruned.
        sparse = least if record.cycles is None else least_workload_cycles(record.workload, hw, dense=False)
    except TuningError:
        return ""
    cycles = record.cost * hw.platform.clock_hz
    if cycles >= min(least, sparse):
        return ""
    return (
        f"its cost of {record.cost * 1e3:.3f} ms is {cycles:,.0f} cycles at {hw.platform.clock_hz // 1_000_000} MHz, "
        f"below the bound of {least:,}: it is not believed"
    )
