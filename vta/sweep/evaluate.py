"""One point of a sweep: tune, compile, and count the cycles."""

from __future__ import annotations

import logging
from pathlib import Path

from vta.autotune.hints import recorded_schedules
from vta.autotune.measure.in_process import in_process
from vta.autotune.session import TuneOptions, tune
from vta.autotune.task import tasks_of
from vta.compiler.compile import operators_of
from vta.compiler.state import State
from vta.devices.cycle import CycleDevice
from vta.devices.device import Counters, RunOptions
from vta.errors import CompileError, VTAError
from vta.records.history import History
from vta.records.log import RecordLog, parse_line, read_log
from vta.schedule.energy import energy_of
from vta.support.dataclass import dataclass
from vta.sweep.networks import Networks
from vta.sweep.points import Design, Point
from vta.sweep.table import Row, Status, row_of

__all__ = ["Job", "evaluate"]

_NETWORKS = Networks()
"""Of this process: what its points share."""


@dataclass(frozen=True)
class Job:
    """A point with the budget of its tuning."""

    point: Point
    tuner: str
    trials: int
    seed: int
    time_limit: float
    records: Path
    """Log of the trials."""
    hints: tuple[str, ...] = ()
    """Lines of records of points like it, whose schedules are measured beside the trials."""


def evaluate(job: Job) -> Row:
    """Tune and time one point, in a process of its own; a point that cannot be compiled or run gives a row that says why."""
    logger = logging.getLogger("vta")
    level = logger.level
    # What is said about a network would be said again for each design.
    logger.setLevel(logging.ERROR)
    try:
        return _evaluate(job)
    except VTAError as error:
        return row_of(job.point, Status.FAILED, reason=str(error))
    finally:
        logger.setLevel(level)


def _evaluate(job: Job) -> Row:
    design = job.point.design
    network = _NETWORKS.network(job.point.work, design.hw)
    tiles = network.compilation.tiles(design.hw)
    if not operators_of(tiles):
        raise CompileError(f"{design.hw.model} runs no operator of {job.point.workload}")
    history, trials = _tuned(tiles, job)
    if history is not None:
        tiles = network.compilation.tiles(design.hw, history)
    programs = network.compilation.programs(tiles)
    device = CycleDevice(design.hw, design.timing, timing_only=True)
    options = RunOptions(limit_seconds=job.time_limit)
    results = [device.run(program.program.encoded(), options) for program in programs]
    device.close()
    cycles = sum(result.cycles or 0 for result in results)
    counters = sum((result.counters for result in results), Counters())
    energy = energy_of(counters, design.hw, design.technology)
    roofline = network.roofline_cycles(tuple(tile.region for tile in tiles.tiles), design.hw, design.timing.bus_bytes)
    macs = sum(record.macs for program in programs for record in program.operators)
    return row_of(job.point, Status.OK, cycles, roofline, macs, energy, trials)


def _tuned(tiles: State, job: Job) -> tuple[History | None, int]:
    """The best schedules and the number of trials; no schedules where there is nothing to tune, or no budget."""
    if not job.trials:
        return None, 0
    design: Design = job.point.design
    tasks = tasks_of(operators_of(tiles), design.hw)
    if not tasks:
        return None, 0
    # Trials of a run that was killed are made again, so that the same points are tried as without the kill.
    job.records.unlink(missing_ok=True)
    options = TuneOptions(job.tuner, job.trials, seed=job.seed)
    hints = recorded_schedules(record for line in job.hints if (record := parse_line(line).record) is not None)
    reports = tune(tasks, in_process(design.hw, design.timing), options, RecordLog(job.records), hints=hints)
    # Costs are taken as they are: the bound that logs are checked against is that of the platform's bus.
    records = [line.record for line in read_log(job.records) if line.record is not None]
    return History(records, str(job.records), None), sum(report.trials for report in reports)
