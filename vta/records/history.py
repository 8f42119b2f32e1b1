"""Compiling with the best schedules of a log."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from vta.config.hardware import HardwareConfig
from vta.errors import TuningError
from vta.records.check import believable_records, config_of_model
from vta.records.knobs import fitting_schedule
from vta.records.log import Record, ranked_records
from vta.records.objective import FEWEST_CYCLES, Objective, check_technologies
from vta.records.region import fitting_choice, ranked_choices, region_identity
from vta.records.shipped import SHIPPED, ShippedSchedules
from vta.records.workload import Workload, workload_of
from vta.schedule.kept_choice import kept_choice
from vta.schedule.schedule import Schedule
from vta.support.shorten import printable
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import RegionOperators

__all__ = ["History", "load_history"]

_LOG = logging.getLogger(__name__)

_LONGEST_NOTE = 500

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
    """A `ScheduleSource`: the records of each workload and config, the best by `objective` first. `source` names the log.

    The best one whose schedule an operator can have is taken; those before it are said, with file and line. Where none fits,
    `shipped` chooses, if it is given and has one, or else the compiler's default.
    """

    def __init__(
        self,
        records: Iterable[Record],
        source: str = "the log",
        shipped: ShippedSchedules | None = SHIPPED,
        objective: Objective = FEWEST_CYCLES,
    ) -> None:
        records = list(records)
        check_technologies(records, objective, source)
        self._source = source
        self._shipped = shipped
        self._choices = ranked_choices(records, objective)
        self._ranked: dict[tuple[str, Workload], list[Record]] = {}
        # Of the same geometry on different targets those of the first one given go first; exact matches go before them.
        for (_, workload), ranked in ranked_records(records, objective).items():
            if model := ranked[0].model:
                self._ranked.setdefault((model, workload), []).extend(ranked)
                self._ranked.setdefault((_geometry(model), workload), []).extend(ranked)
        self._said: set[tuple[str, str]] = set()
        self.notes: dict[str, str] = {}
        """By workload, or by region: why no record was used."""

    def choose(self, operator: GemmOperator, hw: HardwareConfig) -> Schedule:
        """The recorded schedule of an operator, or a shipped or the default one, saying which field did not match."""
        workload = workload_of(operator, hw)
        ranked = self._ranked.get((hw.model, workload), []) + self._ranked.get((hw.bitstream, workload), [])
        problems: list[tuple[str, str]] = []
        for record in dict.fromkeys(ranked):
            try:
                schedule = fitting_schedule(record.entity, operator, hw)
            except TuningError as error:
                problems.append((record.source or self._source, str(error)))
                continue
            self._say_unused(workload.identity, problems)
            return schedule
        self._say_unused(workload.identity, problems[1:])
        source, problem = problems[0] if problems else (self._source, self._mismatch(workload, hw))
        shipped = self._shipped.find(operator, hw) if self._shipped is not None else None
        if workload.identity not in self.notes:
            self.notes[workload.identity] = problem
            instead = "default" if shipped is None else "shipped"
            _LOG.warning("%s: %s: %s; using the %s schedule", source, workload.identity, problem, instead)
        return shipped or kept_choice(operator, hw)

    def choose_region(self, region: RegionOperators, hw: HardwareConfig) -> tuple[Schedule | None, ...] | None:
        """The schedules that were chosen together for this very region on this very target; None if there are none that fit.

        What is not used although the log has choices for regions is said.
        """
        identity = region_identity(region, hw)
        choices = self._choices.get((hw.model, identity), [])
        if not choices and all(model != hw.model for model, _ in self._choices):
            return None
        schedules, problems = fitting_choice(choices, region, hw)
        if schedules is not None:
            self._say_unused(region.name, [(self._source, problem) for problem in problems])
            return schedules
        if identity not in self.notes:
            problem = problems[0] if problems else f"no choice for {region.name} as it is here"
            self.notes[identity] = problem
            _LOG.warning("%s: %s; using the best schedule of each workload", self._source, problem)
        return None

    def _say_unused(self, name: str, problems: Iterable[tuple[str, str]]) -> None:
        """Say why records that cost less than the one that is taken are not, each once, however many operators meet it."""
        for said in problems:
            if said not in self._said:
                self._said.add(said)
                _LOG.warning("%s: %s: not used: %s", said[0], name, printable(said[1], _LONGEST_NOTE))

    def _mismatch(self, workload: Workload, hw: HardwareConfig) -> str:
        """Which field of the nearest record differs."""
        exact = [key for key in self._ranked if key[0] in (hw.model, hw.bitstream)]
        if not exact:
            models = sorted({ranked[0].model for ranked in self._ranked.values()})
            return _config_difference(models, hw) if models else "it has no usable record"
        same_name = [known for _, known in exact if known.name == workload.name]
        if not same_name:
            return f"no record for the task {workload.name}"
        nearest = min(same_name, key=lambda known: len(_differences(known, workload)))
        return "no record matches: in the nearest " + ", ".join(_differences(nearest, workload))


def load_history(*paths: str | Path, shipped: ShippedSchedules | None = SHIPPED, objective: Objective = FEWEST_CYCLES) -> History:
    """Read logs. Lines that are no records are skipped, and said; costs that cannot be true are not believed."""
    records = [record for path in paths for record in believable_records(path)]
    return History(records, ", ".join(map(str, paths)), shipped, objective)


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
