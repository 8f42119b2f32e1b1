"""One point of a sweep: tune, compile, and count the cycles."""

from __future__ import annotations

import logging
from pathlib import Path

from vta.autotune.measure.in_process import in_process
from vta.autotune.session import TuneOptions, tune
from vta.autotune.task import extract_tasks
from vta.compiler.compile import compile_graph, graph_regions, lower_model, region_operators
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.devices.device import Counters, RunOptions
from vta.errors import CompileError, VTAError
from vta.frontend import load_model
from vta.ir.graph import Graph
from vta.quantization import QuantizeConfig
from vta.records.history import History
from vta.records.log import RecordLog, read_log
from vta.report.energy import energy_of
from vta.schedule.roofline import roofline_of_region
from vta.schedule.source import DEFAULT_SCHEDULES
from vta.support.dataclass import dataclass
from vta.sweep.points import Design, Point
from vta.sweep.spec import Net
from vta.sweep.table import Row, Status, row_of
from vta.sweep.workloads import graph_of_identity

__all__ = ["Job", "evaluate"]

Layers = frozenset[str] | None


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


def evaluate(job: Job) -> Row:
    """Tune and time one point, in a process of its own; a point that cannot be compiled or run gives a row that says why."""
    # What is said about a network would be said again for each design.
    logging.getLogger("vta").setLevel(logging.ERROR)
    try:
        return _evaluate(job)
    except VTAError as error:
        return row_of(job.point, Status.FAILED, reason=str(error))


def _evaluate(job: Job) -> Row:
    design = job.point.design
    graph, layers = _integer_graph(job.point.work, design.hw)
    if not region_operators(graph, design.hw, layers):
        raise CompileError(f"{design.hw.model} runs no operator of {job.point.workload}")
    history, trials = _tuned(graph, layers, job)
    module = compile_graph(graph, design.hw, layers=layers, schedules=history or DEFAULT_SCHEDULES)
    device = CycleDevice(design.hw, design.timing, timing_only=True)
    options = RunOptions(limit_seconds=job.time_limit)
    results = [device.run(region.program.encoded(), options) for region in module.regions]
    device.close()
    cycles = sum(result.cycles or 0 for result in results)
    counters = sum((result.counters for result in results), Counters())
    energy = energy_of(counters, design.hw, design.technology)
    bus = design.timing.bus_bytes
    roofline = sum(roofline_of_region(region, design.hw, bus).cycles for region in graph_regions(graph, design.hw, layers))
    macs = sum(record.macs for region in module.regions for record in region.operators)
    return row_of(job.point, Status.OK, cycles, roofline, macs, energy, trials)


def _integer_graph(work: Net | str, hw: HardwareConfig) -> tuple[Graph, Layers]:
    """The integer graph, and the layers that may run on the accelerator."""
    if isinstance(work, str):
        return graph_of_identity(work), None
    graph = load_model(work.model, random_weights=work.random_weights)
    return lower_model(graph, hw, start=work.start, stop=work.stop, quantize=QuantizeConfig(requantize=work.requantize))


def _tuned(graph: Graph, layers: Layers, job: Job) -> tuple[History | None, int]:
    """The best schedules and the number of trials; no schedules where there is nothing to tune, or no budget."""
    design: Design = job.point.design
    tasks = extract_tasks(graph, design.hw, layers)
    if not tasks or not job.trials:
        return None, 0
    # Trials of a run that was killed are made again, so that the same points are tried as without the kill.
    job.records.unlink(missing_ok=True)
    options = TuneOptions(job.tuner, job.trials, seed=job.seed)
    reports = tune(tasks, in_process(design.hw, design.timing), options, RecordLog(job.records))
    # Costs are taken as they are: the bound that logs are checked against is that of the platform's bus.
    records = [line.record for line in read_log(job.records) if line.record is not None]
    return History(records, str(job.records), None), sum(report.trials for report in reports)
