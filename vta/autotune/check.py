"""Whether a record can be believed and used."""

from __future__ import annotations

import re
from functools import cache

from vta.autotune.entity import schedule_of
from vta.autotune.reconstruct import graph_of_workload
from vta.autotune.records import Record
from vta.autotune.roofline import clock_hz, least_workload_cycles
from vta.autotune.task import Task, task_of_graph
from vta.autotune.workload import TASK_NAMES, Workload
from vta.codegen.schedule import broken_limits, laid_out
from vta.config import HardwareConfig
from vta.errors import ConfigError, TuningError, VTAError

__all__ = ["config_of_model", "cost_problem", "task_of_workload", "use_problem"]

_MODEL = re.compile(r"(\w+?)_(\d+)x(\d+)_i(\d+)w(\d+)a(\d+)_(\d+)_(\d+)_(\d+)_(\d+)")


@cache
def config_of_model(model: str) -> HardwareConfig:
    """The config that a model name such as ``pynq_1x16_i8w8a32_15_15_18_17`` stands for.

    Raises `TuningError` if it is not of that form, or stands for hardware that cannot be.
    """
    match = _MODEL.fullmatch(model)
    if match is None:
        raise TuningError(f"model {model!r} is not of the form pynq_1x16_i8w8a32_15_15_18_17")
    target, *numbers = match.groups()
    batch, block, inp, wgt, acc, *sizes = map(int, numbers)
    logs = [value.bit_length() - 1 for value in (inp, wgt, acc, batch, block)]
    if any(1 << log != value for log, value in zip(logs, (inp, wgt, acc, batch, block), strict=True)):
        raise TuningError(f"model {model!r}: widths, BATCH and BLOCK must be powers of two")
    try:
        return HardwareConfig(target, "0.0.0", *logs, *sizes)
    except ConfigError as error:
        raise TuningError(f"model {model!r}: {error}") from None


@cache
def task_of_workload(workload: Workload, hw: HardwareConfig) -> Task:
    """A task made of nothing but its workload, with the plain bias, shift and clip of a quantised layer.

    Raises `TuningError` if there is no such operator, or its arguments do not go together.
    """
    return task_of_graph(graph_of_workload(workload, hw), hw)


def use_problem(record: Record) -> str:
    """Why a record cannot be used on the config that it names; empty if it can."""
    if not record.model:
        return f"target {record.target!r} is not VTA"
    if record.workload.name not in TASK_NAMES:
        return f"no template for {record.workload.name}; there are {', '.join(TASK_NAMES)}"
    if record.error:
        return f"the trial failed with error {record.error}"
    try:
        hw = config_of_model(record.model)
        operator = task_of_workload(record.workload, hw).operator
        schedule = schedule_of(record.entity, operator)
        return "; ".join(broken_limits(laid_out(operator, schedule), schedule, hw))
    except VTAError as error:
        return str(error)


def cost_problem(record: Record) -> str:
    """Why the cost of a record cannot be true; empty if it can."""
    if not record.costs or record.error or not record.model:
        return ""
    try:
        hw = config_of_model(record.model)
    except TuningError:
        return ""
    least = least_workload_cycles(record.workload, hw)
    cycles = record.cost * clock_hz(hw)
    if cycles >= least:
        return ""
    return (
        f"its cost of {record.cost * 1e3:.3f} ms is {cycles:,.0f} cycles at {clock_hz(hw) // 1_000_000} MHz, "
        f"below the bound of {least:,}: it is not believed"
    )
