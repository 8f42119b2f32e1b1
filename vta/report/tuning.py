"""Tables and pictures of tuning runs."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from pathlib import Path

from vta.autotune.session import TaskReport
from vta.autotune.task import Task
from vta.files.atomic_file import whole_file
from vta.support.table import Table, make_table

__all__ = ["draw_progress", "milliseconds", "tuning_table"]

_HEADERS = (
    "layers",
    "workload",
    "weight",
    "default",
    "best cycles",
    "roofline",
    "share",
    "MAC use",
    "GOPS",
    "trials",
    "failed",
    "that fit",
)


_SPARE = ("workload", "that fit", "MAC use", "GOPS", "weight")

_LINE_STYLES = ("-", "--", ":", "-.")
_COLORS = ("#1b9e77", "#d95f02", "#7570b3", "#e7298a", "#66a61e", "#e6ab02", "#a6761d", "#666666", "#1f78b4", "#000000")
"""Together 40 lines that can be told apart."""
_FIGURE_INCHES = (9.0, 5.0)
_LEGEND_ROW_INCHES = 0.2
_LEGEND_LETTER_INCHES = 0.07


_ENERGY_HEADERS = ("default uJ", "best uJ")


def tuning_table(reports: Sequence[TaskReport[Task]]) -> Table:
    """One row a task. MAC use is the share of cycles in which the matrix unit would be busy with all products of the layer; that
    fit: the schedules from which trials are drawn. Where energy is judged, the share is that of the objective.
    """
    if all(report.default_energy_pj is None for report in reports):
        return make_table(_HEADERS, [_row(report) for report in reports], spare=_SPARE)
    rows = [(*_row(report), *_energies(report)) for report in reports]
    return make_table((*_HEADERS, *_ENERGY_HEADERS), rows, spare=_SPARE)


def _energies(report: TaskReport[Task]) -> tuple[str, ...]:
    known = report.default_energy_pj, report.best_energy_pj
    return tuple("-" if energy is None else f"{energy * 1e-6:,.3f}" for energy in known)


def _row(report: TaskReport[Task]) -> tuple[object, ...]:
    hw = report.task.hw
    macs_per_cycle = hw.batch * hw.block * hw.block
    use = report.task.operator.macs / macs_per_cycle / report.best_cycles if report.best_cycles else 0.0
    return (
        report.task.label,
        report.task.name,
        report.task.weight,
        _cost(report.default_cycles, report.default_cost, "failed"),
        _cost(report.best_cycles, report.best_cost, "none"),
        report.task.roofline.cycles,
        f"{report.share:.1%}",
        f"{use:.1%}",
        f"{report.gops:.1f}" if report.gops else "-",
        report.trials,
        sum(report.errors.values()),
        report.task.space.size,
    )


def _cost(cycles: int | None, seconds: float, otherwise: str) -> object:
    """Cycles, or the time where the device counts none."""
    if cycles is not None:
        return cycles
    return otherwise if isinf(seconds) else milliseconds(seconds)


def milliseconds(seconds: float) -> str:
    """A cost as a text."""
    return f"{seconds * 1e3:,.3f} ms"


def draw_progress(reports: Sequence[TaskReport[Task]], path: Path) -> None:
    """Draw the best of each task so far, relative to what it takes at least, against the trials."""
    from cycler import cycler
    from matplotlib.figure import Figure

    width, height = _FIGURE_INCHES
    # Beside each label is a sample of its line, as wide as ten letters.
    columns = max(1, int(width / (_LEGEND_LETTER_INCHES * (10 + max(len(report.task.label) for report in reports)))))
    rows = -(-len(reports) // columns)
    figure = Figure(figsize=(width, height + _LEGEND_ROW_INCHES * rows), layout="constrained")
    axes = figure.subplots()
    axes.set_prop_cycle(cycler(linestyle=_LINE_STYLES) * cycler(color=_COLORS))
    for report in reports:
        trials = [trial for trial, _ in report.curve] + [report.trials]
        costs = [value / report.least_value for _, value in report.curve]
        axes.step(trials, [*costs, costs[-1]], where="post", label=report.task.label)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("trials")
    judged = any(report.best_energy_pj is not None for report in reports)
    axes.set_ylabel("objective: best so far / bound" if judged else "best cycles so far / roofline")
    axes.set_title(f"{reports[0].task.hw.model}: {sum(report.trials for report in reports)} trials")
    figure.legend(loc="outside lower center", ncols=columns, fontsize="small")
    with whole_file(path, "the picture") as beside:
        figure.savefig(beside)
