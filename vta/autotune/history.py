"""Compiling with the best schedules of a log."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from vta.autotune.check import config_of_model, cost_problem
from vta.autotune.entity import schedule_of
from vta.autotune.records import Record, pick_best, read_log
from vta.autotune.region_records import best_choices, chosen_schedules, region_identity
from vta.autotune.shipped import SHIPPED, ShippedSchedules
from vta.autotune.workload import Workload, workload_of
from vta.codegen.choose import choose_schedule, choosing
from vta.codegen.schedule import Schedule, broken_limits, laid_out
from vta.codegen.workload import RegionOperators, TileOperator
from vta.config import HardwareConfig
from vta.errors import TuningError

__all__ = ["History", "apply_history_best", "load_history"]

_LOG = logging.getLogger(__name__)

_CONVOLUTION = ("data", "kernel", "strides", "padding", "dilation")
_ARGUMENTS = {
    "conv2d_packed.vta": (*_CONVOLUTION, "layout", "out_dtype"),
    "group_conv2d_packed.vta": (*_CONVOLUTION, "groups", "out_dtype"),
    "dense_packed.vta": ("data", "weight", "bias", "out_dtype"),
    "add.vta": ("lhs", "rhs"),
    "multiply.vta": ("lhs", "rhs"),
    "elementwise.vta": ("data",),
    "sum_pool2d.vta": ("data", "pool_size", "strides", "padding"),
}


class History:
    """The best record of each workload and config. `source` names the log in messages.

    Where no record fits, `shipped` chooses, if it is given and has one, or else the compiler's default.
    """

    def __init__(self, records: Iterable[Record], source: str = "the log", shipped: ShippedSchedules | None = SHIPPED) -> None:
        records = list(records)
        self._source = source
        self._shipped = shipped
        self._choices = best_choices(records)
        self._best: dict[tuple[str, Workload], Record] = {}
        # Of the same geometry on different targets the first one given counts; an exact match goes before them.
        for record in pick_best(records):
            if record.model:
                self._best[record.model, record.workload] = record
                self._best.setdefault((_geometry(record.model), record.workload), record)
        self.notes: dict[str, str] = {}
        """By workload, or by region: why no record was used."""

    def choose(self, operator: TileOperator, hw: HardwareConfig) -> Schedule:
        """The recorded schedule of an operator, or a shipped or the default one, saying which field did not match."""
        workload = workload_of(operator, hw)
        record = self._best.get((hw.model, workload)) or self._best.get((hw.bitstream, workload))
        problem = self._mismatch(workload, hw) if record is None else ""
        if record is not None:
            try:
                schedule = schedule_of(record.entity, operator)
                problem = "; ".join(broken_limits(laid_out(operator, schedule), schedule, hw))
                if not problem:
                    return schedule
            except TuningError as error:
                problem = str(error)
        shipped = self._shipped.find(operator, hw) if self._shipped is not None else None
        if workload.identity not in self.notes:
            self.notes[workload.identity] = problem
            instead = "default" if shipped is None else "shipped"
            _LOG.warning("%s: %s: %s; using the %s schedule", self._source, workload.identity, problem, instead)
        return shipped or choose_schedule(operator, hw)

    def choose_region(self, region: RegionOperators, hw: HardwareConfig) -> tuple[Schedule | None, ...] | None:
        """The schedules that were chosen together for this very region on this very target; None if there are none that fit.

        What is not used although the log has choices for regions is said.
        """
        identity = region_identity(region, hw)
        choice = self._choices.get((hw.model, identity))
        if choice is None and all(model != hw.model for model, _ in self._choices):
            return None
        problem = f"no choice for {region.name} as it is here"
        if choice is not None:
            try:
                return chosen_schedules(choice, region, hw)
            except TuningError as error:
                problem = str(error)
        if identity not in self.notes:
            self.notes[identity] = problem
            _LOG.warning("%s: %s; using the best schedule of each workload", self._source, problem)
        return None

    def _mismatch(self, workload: Workload, hw: HardwareConfig) -> str:
        """Which field of the nearest record differs."""
        exact = [key for key in self._best if key[0] in (hw.model, hw.bitstream)]
        if not exact:
            models = sorted({record.model for record in self._best.values()})
            return _config_difference(models, hw) if models else "it has no usable record"
        same_name = [known for _, known in exact if known.name == workload.name]
        if not same_name:
            return f"no record for the task {workload.name}"
        nearest = min(same_name, key=lambda known: len(_differences(known, workload)))
        return "no record matches: in the nearest " + ", ".join(_differences(nearest, workload))


def load_history(*paths: str | Path, shipped: ShippedSchedules | None = SHIPPED) -> History:
    """Read logs. Lines that are no records are skipped, and said; costs that cannot be true are not believed."""
    records = []
    for path in paths:
        for line in read_log(path):
            if line.problem:
                _LOG.warning("%s:%d: skipped: %s", path, line.number, line.problem)
            elif line.record is not None and (problem := cost_problem(line.record)):
                _LOG.warning("%s:%d: skipped: %s", path, line.number, problem)
            elif line.record is not None:
                records.append(line.record)
    return History(records, ", ".join(map(str, paths)), shipped)


@contextmanager
def apply_history_best(*logs: str | Path, shipped: ShippedSchedules | None = SHIPPED) -> Iterator[History]:
    """Whatever is compiled inside takes its schedules from `logs`, where they have one that fits, then from `shipped`."""
    history = load_history(*logs, shipped=shipped)
    with choosing(history.choose, history.choose_region):
        yield history


def _geometry(model: str) -> str:
    """A model name without its target."""
    return model.partition("_")[2]


def _config_difference(models: list[str], hw: HardwareConfig) -> str:
    differing: dict[str, list[str]] = {}
    for model in models:
        try:
            other = config_of_model(model)
        except TuningError:
            continue
        names = [field.name for field in fields(hw) if field.name.startswith("log_")]
        differing[model] = [
            f"{name.upper()} = {getattr(other, name)} there and {getattr(hw, name)} here"
            for name in names
            if getattr(other, name) != getattr(hw, name)
        ]
    if not differing:
        return f"its records are for {', '.join(models)}, none for {hw.model}"
    model = min(differing, key=lambda name: len(differing[name]))
    return f"no record for {hw.model}; those for {model} have another config: {', '.join(differing[model])}"


def _differences(known: Workload, wanted: Workload) -> list[str]:
    names = _ARGUMENTS.get(wanted.name, ())
    if len(known.args) != len(wanted.args):
        return [f"{len(known.args)} arguments there and {len(wanted.args)} here"]
    return [
        f"{names[index] if index < len(names) else f'argument {index}'} = {_shown(a)} there and {_shown(b)} here"
        for index, (a, b) in enumerate(zip(known.args, wanted.args, strict=True))
        if a != b
    ]


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value[1] if value[:1] == ("TENSOR",) else value)) or "scalar"
    return str(value)
