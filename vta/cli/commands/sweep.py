"""`vta sweep`: the same networks and workloads on many hardware configs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vta.cli.options import HelpFormatter, add_debug, add_json, existing_file, integer
from vta.cli.terminal.output import Output, count
from vta.cli.tuning.cluster import add_cluster, open_cluster

if TYPE_CHECKING:
    from vta.bitstream.fits import CoreFit
    from vta.sweep.effects import Effect
    from vta.sweep.ranking import Entry
    from vta.sweep.search.session import SearchResult
    from vta.sweep.session import SweepResult
    from vta.sweep.table import Row
    from vta.sweep.workplace import Workplace

__all__ = ["register"]

_DESCRIPTION = """\
Run networks or single workloads on every combination of the config values that a file lists, each tuned within a budget and
timed on the cycle engine, on all cores. DIR gets the table sweep.csv, one line a point as it is done; ranking.csv, one line a
design; and the picture sweep.png. A sweep that was stopped goes on with --resume. With --search not all combinations run, but
those that may be good in the criteria of pareto.
"""

_EXAMPLES = """\
examples:
  vta sweep blocks.yaml -o blocks
  vta sweep blocks.yaml -o blocks --resume
  vta sweep large.yaml -o large --search 200     the 200 most promising designs of as many combinations as one likes
  vta sweep blocks.yaml -o blocks --cluster tcp://10.0.0.1:8786
  vta sweep sweep_24 -o sweep_24                 the ten convolutions of ResNet-18 on 24 configs

a file:
  base: sim                                      # a shipped config or a JSON file; sim if left out
  config: {LOG_BLOCK: [3, 4, 5], LOG_INP_BUFF_SIZE: [14, 15]}
  timing: {bus_bits: [64, 128], read_latency: 16}
  nets: [{model: resnet18_v1, random_weights: 0}]
  workloads: [conv2d_packed.vta:1x4x56x56x1x16:4x4x3x3x16x16:1x1:1x1x1x1:1x1]
  tuner: ga
  trials: 64                                     # a task; 0 for the compiler's own schedules
  weights: {resnet18_v1: 10}                     # how often each net counts in the ranking; 1 if left out
  pareto: [cycles, energy, area, bus]            # or bytes, macs, time
  board: pynq-z1                                 # only what fits its FPGA
  clock: {LOG_BLOCK: {5: 80}}                    # MHz that these cores are estimated to reach, for time
  technology: mine.json                          # figures for energy and area, see docs/energy.md
"""


_MOST_SKIPPED = 10
"""Lines for combinations that a search cannot run."""
_MOST_SLOW = 5
"""Designs that are named as slower than their board."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "sweep",
        help=summary,
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "spec", type=_spec_file, metavar="SPEC", help="what to vary and to run: a .yaml or .json file, or sweep_24"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="directory of the table and the picture")
    parser.add_argument("--resume", action="store_true", help="go on with the table in DIR")
    parser.add_argument(
        "--search", type=integer(1), metavar="N", help="run N designs that may be good, and not every combination"
    )
    parser.add_argument("--jobs", type=integer(1), metavar="N", help="points at a time (default: one for each core)")
    add_cluster(parser, "run the points")
    add_json(parser)
    add_debug(parser)
    parser.set_defaults(run=_run)


def _spec_file(text: str) -> Path:
    """Parse the path of a sweep, or the name of one that comes with vta."""
    from vta.records.shipped import shipped_folder

    folder = shipped_folder()
    shipped = {path.stem: path for path in sorted(folder.glob("*.yaml"))} if folder else {}
    if text in shipped and not Path(text).exists():
        return shipped[text]
    try:
        return existing_file(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; sweeps that come with vta: {', '.join(shipped) or 'none'}") from None


def _run(options: argparse.Namespace) -> None:
    from vta.sweep.search.session import run_search
    from vta.sweep.session import run_sweep
    from vta.sweep.spec import load_spec

    output = Output(options.json)
    with output.progress() as progress:
        progress("reading the sweep")
        spec = load_spec(options.spec) if options.search is None else load_spec(options.spec, most_points=None)

        def watch(row: Row, done: int, total: int) -> None:
            progress("running points", done, total)

        started = time.perf_counter()
        workplace = _workplace(options)
        if options.search is None:
            result = run_sweep(spec, options.output, resume=options.resume, watch=watch, workplace=workplace)
            search = None
        else:
            search = run_search(spec, options.output, options.search, resume=options.resume, watch=watch, workplace=workplace)
            result = search.sweep
        seconds = time.perf_counter() - started
    _report(result, search, seconds, options.output, output)


def _workplace(options: argparse.Namespace) -> Workplace:
    """Where the points run."""
    cluster = open_cluster(options)
    if cluster is None:
        from vta.sweep.workplace import LocalWorkplace

        return LocalWorkplace(options.jobs)
    from vta.sweep.away import ClusterWorkplace

    return ClusterWorkplace(cluster)


def _report(result: SweepResult, search: SearchResult | None, seconds: float, folder: Path, output: Output) -> None:
    from vta.errors import SweepError
    from vta.sweep.effects import effects_table, main_effects
    from vta.sweep.picture import draw
    from vta.sweep.ranking import rank, ranking_table, write_ranking
    from vta.sweep.table import Status

    for entry in result.illegal:
        output.line(f"illegal: {_assignments(entry.values)}: {entry.reason}")
    skipped = search.skipped if search is not None else ()
    for entry in skipped[:_MOST_SKIPPED]:
        output.line(f"skipped: {_assignments(entry.values)}: {entry.reason}")
    if len(skipped) > _MOST_SKIPPED:
        output.line(f"... and {count(len(skipped) - _MOST_SKIPPED, 'combination')} more, all in --json")
    bad = [row for row in result.rows if row.status is not Status.OK]
    for row in bad:
        output.line(f"point {row.point}: {row.config}: {row.workload}: {row.status.value}: {row.reason}")
    entries = rank(result)
    effects = main_effects(entries, result.spec.axes)
    output.show(ranking_table(entries))
    if effects:
        output.show(effects_table(effects))
    picture, ranking = folder / "sweep.png", folder / "ranking.csv"
    draw(entries, result.spec, picture)
    write_ranking(entries, ranking)
    board = result.spec.board
    if board is not None and any(entry.design.fit is not None and entry.design.fit.source == "counted" for entry in entries):
        output.line(
            f"look-up tables of some cores are not estimated: there are no syntheses like them for {board.name}; DSP blocks and "
            "block memories are counted"
        )
    if slow := [entry.design.fit for entry in entries if entry.design.fit is not None and entry.design.fit.slow]:
        output.line(_slow(slow))
    output.line(_counts(result, search, len(bad)))
    output.line(f"every point is in {result.table}, the ranking in {ranking}, a picture of it in {picture}")
    values = _result(result, entries, effects, picture)
    values["points"] = len(result.rows)
    ran = result.ran if search is None else search.ran
    values["points_per_hour"] = round(3600 * ran / seconds) if ran else None
    values["hypervolume"] = _hypervolume(entries, result) if search is None else search.hypervolumes[-1]
    if search is not None:
        values["search"] = {
            "evaluated": search.evaluated,
            "discarded": search.discarded,
            "broken": search.broken,
            "skipped": [{"values": entry.values, "reason": entry.reason} for entry in search.skipped],
            "combinations": search.combinations,
            "hypervolumes": search.hypervolumes,
        }
    output.result(values)
    if len(bad) == len(result.rows):
        raise SweepError(f"no point has a result; the first: {bad[0].status.value}: {bad[0].reason}")


def _slow(fits: Sequence[CoreFit]) -> str:
    """Which designs do not reach the clock of the sweep's board, the slowest first."""
    known = {fit.config: fit.clock for fit in fits if fit.clock is not None}
    named = sorted(known, key=lambda config: known[config].mhz)
    words = ", ".join(f"{config} {known[config].mhz:g} MHz ({known[config].source})" for config in named[:_MOST_SLOW])
    more = f", and {len(named) - _MOST_SLOW} more" if len(named) > _MOST_SLOW else ""
    return f"slower than the {fits[0].wanted_mhz:g} MHz that board {fits[0].board} is built for: {words}{more}"


def _counts(result: SweepResult, search: SearchResult | None, bad: int) -> str:
    """What became of all combinations."""
    points = f"{count(len(result.rows), 'point')}, {bad} without a result"
    if search is None:
        illegal = sum(entry.combinations for entry in result.illegal)
        combinations = count(len(result.designs) + illegal, "combination")
        return f"{combinations}: {len(result.designs)} legal, {illegal} illegal; {points}"
    return (
        f"{count(search.combinations, 'combination')}: {search.evaluated} ran, {search.discarded} not since their bound is no "
        f"better than what ran, {search.broken} cannot run all; {points}"
    )


def _hypervolume(entries: Sequence[Entry], result: SweepResult) -> float | None:
    """That of the ranking, if what computes it is installed."""
    from vta.errors import SweepError
    from vta.sweep.search.hypervolume import hypervolume_of

    try:
        return hypervolume_of([entry.costs(result.spec.pareto) for entry in entries if entry.whole])
    except SweepError:
        return None


def _assignments(values: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in values.items())


def _result(result: SweepResult, entries: Sequence[Entry], effects: Sequence[Effect], picture: Path) -> dict[str, Any]:
    from dataclasses import asdict

    from vta.sweep.ranking import entry_json

    legal = [
        {
            "config": design.hw.to_json(),
            "model": design.hw.model,
            "bus_bits": design.timing.bus_bits,
            "read_latency": design.timing.read_latency,
            "onchip_bytes": design.onchip_bytes,
        }
        for design in result.designs
    ]
    illegal = [{"values": entry.values, "reason": entry.reason, "combinations": entry.combinations} for entry in result.illegal]
    return {
        "configs": {"legal": legal, "illegal": illegal},
        "table": str(result.table),
        "picture": str(picture),
        "rows": [{**asdict(row), "status": row.status.value} for row in result.rows],
        "ranking": [entry_json(place, entry) for place, entry in enumerate(entries, 1)],
        "effects": [asdict(effect) for effect in effects],
    }
