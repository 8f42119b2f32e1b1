"""Finding better schedules by trials."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from vta.autotune.hints import shipped_schedules
from vta.autotune.measure.in_process import in_process
from vta.autotune.session import TaskReport, TuneOptions
from vta.autotune.session import tune as tune_tasks
from vta.autotune.task import Task, extract_tasks
from vta.config.hardware import AnyConfig, HardwareConfig, config_of
from vta.config.technology import load_technology
from vta.errors import TuningError
from vta.ir.graph import Graph
from vta.records.check import believable_records
from vta.records.log import RecordLog
from vta.records.objective import Objective, check_technologies
from vta.records.sources import schedules
from vta.report.tuning import tuning_table
from vta.schedule.schedule import Schedule
from vta.schedule.source import ScheduleSource
from vta.support.table import Table
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import RegionOperators

__all__ = ["TuningResult", "tune"]


class TuningResult:
    """What tuning found; it can be given as the `schedules` of `vta.compile`."""

    def __init__(self, reports: Sequence[TaskReport[Task]], source: ScheduleSource) -> None:
        self.reports = tuple(reports)
        """How each task went, in the order of the network."""
        self._source = source

    def choose(self, operator: GemmOperator, hw: HardwareConfig) -> Schedule:
        """See `ScheduleSource.choose`."""
        return self._source.choose(operator, hw)

    def choose_region(self, region: RegionOperators, hw: HardwareConfig) -> Sequence[Schedule | None] | None:
        """See `ScheduleSource.choose_region`."""
        return self._source.choose_region(region, hw)

    def table(self) -> Table:
        """One row a task."""
        return tuning_table(self.reports)

    def __repr__(self) -> str:
        return str(self.table().shortened())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def tune(
    quantized: Graph,
    hw: AnyConfig,
    *,
    trials: int = 256,
    log: str | Path | None = None,
    tuner: str = "xgb",
    early_stopping: int | None = None,
    seed: int = 0,
    objective: str = "cycles",
    technology: str | Path | None = None,
    watch: Callable[[TaskReport[Task]], None] | None = None,
) -> TuningResult:
    """Try schedules for the operators of a network that `vta.quantize` made, on the cycle simulator.

    Each distinct operator gets at most `trials`, chosen by `tuner`, and ends after `early_stopping` trials without gain. What is
    measured is appended to `log`; what it holds is not measured again. `watch` is told after every batch of trials. Schedules are
    judged by `objective`: cycles, energy, or powers of both such as ``cycles=1,energy=2``, with the figures in the file
    `technology` for energy. Raises `TuningError` if there is nothing to tune, or the objective is none.
    """
    config = config_of(hw)
    tasks = extract_tasks(quantized, config)
    if not tasks:
        raise TuningError(f"nothing to tune: {config.model} runs no operator of {quantized.name}")
    judged = Objective.parse(objective, load_technology(Path(technology)) if technology is not None else None)
    options = TuneOptions(tuner=tuner, trials=trials, early_stopping=early_stopping, seed=seed, objective=judged)
    with tempfile.TemporaryDirectory(prefix="vta-tune-") as folder:
        path = Path(folder) / "tune.log" if log is None else Path(log)
        known = believable_records(path) if path.exists() else []
        check_technologies(known, judged, path)
        measuring = in_process(config, technology=judged.technology if judged.has_energy else None)
        reports = tune_tasks(tasks, measuring, options, RecordLog(path), known, watch, shipped_schedules)
        return TuningResult(reports, schedules(path, objective=objective, technology=technology))
