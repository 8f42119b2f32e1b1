"""The timeline of a run as Trace Event JSON, which Perfetto opens: one microsecond for each cycle.

Tracks are those of the units, and above them the host, the regions and the layers of the network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vta.codegen.region_program import MOVE_SUFFIX, RegionProgram
from vta.config.targets import MemoryType
from vta.devices.device import TIMELINE_KINDS, TIMELINE_UNITS, RunResult
from vta.files.atomic_file import write_whole
from vta.ir.graph import Node
from vta.isa.instruction import Opcode
from vta.isa.program import Program
from vta.report.costs.cycles import preset_text
from vta.runtime.operator_cycles import operator_cycles
from vta.runtime.reports import StepTime

__all__ = ["timeline_events", "write_timeline"]

Results = Sequence[tuple[RegionProgram, RunResult]]

_UNITS, _NETWORK = 0, 1
"""Processes of the trace."""
_HOST, _REGIONS, _LAYERS = 0, 1, 2
"""Tracks of the network; layers that overlap have further ones."""
_WAITS = {"token": "wait for token", "memory": "wait for memory"}
_COLOURS = {"token": "terrible", "memory": "bad"}


def write_timeline(path: Path, results: Results, steps: Sequence[StepTime] = (), clock_mhz: float = 100.0) -> int:
    """Write the timelines of device runs, one after the other; return the number of intervals of the units.

    The runs must have been made with `RunOptions.timeline`. With the `steps` of the run of a network, what the host does lies
    between them, in cycles of a clock of `clock_mhz`.
    """
    events = list(timeline_events(results, steps, clock_mhz))
    presets = sorted({preset_text(result.preset) for _, result in results if result.preset})
    about = {"unit": "1 us is one clock cycle", "timing": "; ".join(presets)}
    write_whole(path, json.dumps({"traceEvents": events, "otherData": about}), "the timeline")
    return sum(event["ph"] == "X" and event["pid"] == _UNITS for event in events)


def timeline_events(results: Results, steps: Sequence[StepTime] = (), clock_mhz: float = 100.0) -> Iterator[dict[str, Any]]:
    """The names of the tracks, and then one complete event for each interval, layer, region and step of the host."""
    yield from _tracks(_UNITS, "VTA", dict(enumerate(TIMELINE_UNITS)), [3, 0, 1, 2])
    host, runs = _laid_out(results, steps, clock_mhz)
    layers = list(_layers(runs))
    lanes = _lanes([(start, end) for start, end, _, _ in layers])
    names = {_HOST: "host", _REGIONS: "regions"}
    names |= {_LAYERS + lane: "layers" if not lane else f"layers, {lane + 1}" for lane in sorted(set(lanes))}
    yield from _tracks(_NETWORK, "network", names, sorted(names))
    for start, length, node in host:
        yield _span(start, length, _HOST, node.name, "host", {"operator": node.op})
    for start, region, result in runs:
        yield _span(start, result.cycles or 0, _REGIONS, region.name, "region", {})
    for (start, end, name, region_name), lane in zip(layers, lanes, strict=True):
        yield _span(start, end - start, _LAYERS + lane, name, "layer", {"region": region_name})
    for start, region, result in runs:
        labels = [_label(region.program, index) for index in range(len(region.program.instructions))]
        for first, end, instruction, unit, kind in [] if result.timeline is None else result.timeline.tolist():
            yield _interval(start + first, end - first, unit, TIMELINE_KINDS[kind], instruction, labels[instruction], region.name)


def _laid_out(
    results: Results, steps: Sequence[StepTime], clock_mhz: float
) -> tuple[list[tuple[int, int, Node]], list[tuple[int, RegionProgram, RunResult]]]:
    """Start, length and last operator of each step of the host, and the start of each device run: one after the other."""
    host: list[tuple[int, int, Node]] = []
    runs: list[tuple[int, RegionProgram, RunResult]] = []
    start = 0
    left = list(results)
    for node, seconds in [(step.node, step.seconds) for step in steps] or [(None, 0.0)] * len(left):
        if node is not None:
            length = round(seconds * clock_mhz * 1e6)
            host.append((start, length, node))
        else:
            region, result = left.pop(0)
            length = result.cycles or 0
            runs.append((start, region, result))
        start += length
    return host, runs


def _layers(runs: Sequence[tuple[int, RegionProgram, RunResult]]) -> Iterator[tuple[int, int, str, str]]:
    """First and last cycle, name and region of each operator."""
    for start, region, result in runs:
        for row in operator_cycles(region, result):
            yield start + row.total.first, start + row.total.last, row.operator, region.name


def _lanes(spans: Sequence[tuple[int, int]]) -> list[int]:
    """A track for each span, the first on which no other is in its way: operators overlap."""
    lanes = [0] * len(spans)
    ends: list[int] = []
    for index in sorted(range(len(spans)), key=lambda index: spans[index]):
        first, last = spans[index]
        lane = next((lane for lane, end in enumerate(ends) if end <= first), len(ends))
        ends[lane : lane + 1] = [last]
        lanes[index] = lane
    return lanes


def _tracks(process: int, name: str, threads: Mapping[int, str], order: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The names of a process and of its tracks, and their order from above."""
    yield _name("process_name", process, 0, name)
    for track, thread in threads.items():
        yield _name("thread_name", process, track, thread)
        yield {**_name("thread_sort_index", process, track, ""), "args": {"sort_index": order.index(track)}}


def _name(what: str, process: int, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": track, "args": {"name": name}}


def _span(start: int, length: int, track: int, name: str, kind: str, more: dict[str, str]) -> dict[str, Any]:
    return {"ph": "X", "name": name, "cat": kind, "pid": _NETWORK, "tid": track, "ts": start, "dur": length, "args": more}


def _interval(
    start: int, length: int, track: int, kind: str, instruction: int, label: tuple[str, str], region: str
) -> dict[str, Any]:
    origin, opcode = label
    event = {
        "ph": "X",
        "name": _WAITS.get(kind, f"{origin} {opcode}" if origin else opcode),
        "cat": kind,
        "pid": _UNITS,
        "tid": track,
        "ts": start,
        "dur": length,
        "args": {"instruction": instruction, "opcode": opcode, "origin": origin, "region": region},
    }
    if kind in _COLOURS:
        event["cname"] = _COLOURS[kind]
    return event


def _label(program: Program, index: int) -> tuple[str, str]:
    """Operator and tile that an instruction comes from, and what it is."""
    row = program.instructions[index]
    opcode = Opcode(int(row["opcode"]))
    what = opcode.name
    if opcode is Opcode.LOAD and row["x_size"] > 0:
        what = f"LOAD {MemoryType(int(row['memory_type'])).name}"
    origin = program.origin(index)
    if origin is None:
        return "", what
    tile = f" tile {origin.tile}" if origin.tile >= 0 else ""
    return origin.operator.removesuffix(MOVE_SUFFIX) + tile, what
