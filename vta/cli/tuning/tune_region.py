"""The last stage of `vta tune`: schedules of whole regions, chosen together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from vta.cli.options import integer, objective_of, positive_or_zero
from vta.cli.terminal.output import Output, count

if TYPE_CHECKING:
    from vta.autotune.region.tune import RegionReport
    from vta.autotune.task import Task
    from vta.config.hardware import HardwareConfig
    from vta.ir.graph import Graph
    from vta.tile.operator import RegionOperators

__all__ = ["add_region_search", "compiled_regions", "report_regions", "tune_regions"]


def add_region_search(parser: argparse.ArgumentParser) -> None:
    """Add the options of the last stage."""
    group = parser.add_argument_group(
        "whole region",
        "When all tasks are tuned, the schedules of the operators that run as one program are chosen together.",
    )
    group.add_argument(
        "--region-evaluations",
        type=integer(0),
        default=1000,
        metavar="N",
        help="time at most N choices for each region; 0 leaves the stage out (default: %(default)s)",
    )
    group.add_argument(
        "--region-seconds",
        type=positive_or_zero,
        default=60.0,
        metavar="S",
        help="for all regions together (default: %(default)g)",
    )


def compiled_regions(graph: Graph, hw: HardwareConfig, layers: frozenset[str] | None) -> tuple[RegionOperators, ...]:
    """The regions of an integer graph that stay on VTA when it is compiled, numbered as there."""
    from vta.compiler.compile import compile_graph, graph_regions

    regions = graph_regions(graph, hw, layers)
    if all(any(operator.macs for operator in region.operators) for region in regions):
        # The main region stays.
        return regions
    module = compile_graph(graph, hw, layers=layers, least_gain=None)
    kept = frozenset(placement.layer for placement in module.placements if placement.where == "vta")
    return graph_regions(graph, hw, kept)


def tune_regions(
    regions: Sequence[RegionOperators], hw: HardwareConfig, tasks: Sequence[Task], options: argparse.Namespace, output: Output
) -> list[RegionReport]:
    """Choose for every region, beginning with what the log has, and append what is better to it."""
    import time

    from vta.autotune.region.search import SearchLimits
    from vta.autotune.region.tune import RegionOptions, tune_region
    from vta.records.check import believable_records
    from vta.records.log import RecordLog

    objective = objective_of(options)
    if not options.region_evaluations or options.workload is not None or options.tracker:
        return []
    until = time.perf_counter() + options.region_seconds
    # What is wrong with lines was said before tuning.
    records = believable_records(options.records, say=lambda _: None)
    log, reports = RecordLog(options.records), []
    with output.progress() as progress:
        for region in regions:

            def watch(name: str, done: int, total: int, best: float) -> None:
                progress(f"choosing for {name}", done, total)

            limits = SearchLimits(options.region_evaluations, max(0.0, until - time.perf_counter()), options.seed)
            report = tune_region(
                region, hw, tasks, records, RegionOptions(limits=limits, device=options.device, objective=objective), watch
            )
            if report is not None:
                log.append(report.records)
                reports.append(report)
    return reports


def report_regions(reports: Sequence[RegionReport], output: Output) -> list[dict[str, Any]]:
    """Print what choosing has brought; returns it as values for scripts."""
    for report in reports:
        output.line(
            f"whole region: {_change(report)}; {report.name}, "
            f"{count(report.operators, 'operator')}, {count(report.evaluations, 'choice')} timed in {report.seconds:.1f} s"
        )
    return [{**asdict(report), "records": len(report.records)} for report in reports]


def _change(report: RegionReport) -> str:
    """From the best of each task to what was chosen; one of the two may be given up for the other."""
    cycles = (
        f"{count(report.alone_cycles)} -> {count(report.best_cycles)} cycles ({_less(report.alone_cycles, report.best_cycles)})"
    )
    if report.alone_energy_pj is None or report.best_energy_pj is None:
        return cycles
    before, after = report.alone_energy_pj, report.best_energy_pj
    return f"{cycles}, {before * 1e-6:,.1f} -> {after * 1e-6:,.1f} uJ ({_less(before, after)})"


def _less(before: float, after: float) -> str:
    gain = 1 - after / before
    return f"{abs(gain):.2%} {'less' if gain >= 0 else 'more'}"
