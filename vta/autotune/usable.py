"""Whether a record can be used, without the network that it was made for."""

from __future__ import annotations

from functools import cache

from vta.autotune.reconstruct import graph_of_workload
from vta.autotune.task import Task, task_of_graph
from vta.config.hardware import HardwareConfig
from vta.errors import VTAError
from vta.records.check import config_of_model, cost_problem
from vta.records.knobs import fitting_schedule
from vta.records.record import Record
from vta.records.workload import TASK_NAMES, Workload
from vta.support.shorten import printable

__all__ = ["knob_problem", "record_problem", "task_of_workload", "use_problem"]

_LONGEST_REASON = 300


@cache
def task_of_workload(workload: Workload, hw: HardwareConfig) -> Task:
    """A task made of nothing but its workload, with the plain bias, shift and clip of a quantised layer.

    Raises `TuningError` if there is no such operator, or its arguments do not go together.
    """
    return task_of_graph(graph_of_workload(workload, hw), hw)


def use_problem(record: Record) -> str:
    """Why a record cannot be used on the config, processor or GPU that it names; empty if it can."""
    if not record.model:
        # What these need is imported for them alone.
        from vta.autotune.kernels_usable import kernel_problem

        return kernel_problem(record)
    if record.workload.name not in TASK_NAMES:
        return f"no template for {printable(record.workload.name, 80)}; there are {', '.join(TASK_NAMES)}"
    if record.error:
        return f"the trial failed with error {record.error}"
    return knob_problem(record)


def knob_problem(record: Record) -> str:
    """Why the knobs of a record for VTA are no schedule of its workload on its config; empty if they are."""
    try:
        hw = config_of_model(record.model)
        fitting_schedule(record.entity, task_of_workload(record.workload, hw).operator, hw)
    except VTAError as error:
        return printable(str(error), _LONGEST_REASON)
    return ""


def record_problem(record: Record) -> str:
    """Why a record cannot be used or believed; empty if it can be."""
    return use_problem(record) or cost_problem(record)
