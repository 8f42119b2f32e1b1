"""The timeline of a run as Trace Event JSON, which Perfetto opens: one track for each unit, one microsecond for each cycle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vta.codegen.region_program import MOVE_SUFFIX, RegionProgram
from vta.config.targets import MemoryType
from vta.devices.device import TIMELINE_KINDS, TIMELINE_UNITS, RunResult
from vta.isa.instruction import Opcode
from vta.isa.program import Program
from vta.report.cycles import preset_text
from vta.support.atomic_file import write_whole

__all__ = ["timeline_events", "write_timeline"]

_WAITS = {"token": "wait for token", "memory": "wait for memory"}
_COLOURS = {"token": "terrible", "memory": "bad"}


def write_timeline(path: Path, results: Sequence[tuple[RegionProgram, RunResult]]) -> int:
    """Write the timelines of device runs, one after the other; return the number of intervals.

    The runs must have been made with `RunOptions.timeline`.
    """
    events = list(timeline_events(results))
    presets = sorted({preset_text(result.preset) for _, result in results if result.preset})
    about = {"unit": "1 us is one clock cycle", "timing": "; ".join(presets)}
    write_whole(path, json.dumps({"traceEvents": events, "otherData": about}), "the timeline")
    return sum(event["ph"] == "X" for event in events)


def timeline_events(results: Sequence[tuple[RegionProgram, RunResult]]) -> Iterator[dict[str, Any]]:
    """The names of the tracks, and then one complete event for each interval."""
    yield _name("process_name", 0, "VTA")
    for track, unit in enumerate(TIMELINE_UNITS):
        yield _name("thread_name", track, unit)
        yield {**_name("thread_sort_index", track, ""), "args": {"sort_index": (track + 1) % len(TIMELINE_UNITS)}}
    start = 0
    for region, result in results:
        labels = [_label(region.program, index) for index in range(len(region.program.instructions))]
        for first, end, instruction, unit, kind in [] if result.timeline is None else result.timeline.tolist():
            yield _interval(start + first, end - first, unit, TIMELINE_KINDS[kind], instruction, labels[instruction], region.name)
        start += result.cycles or 0


def _name(what: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": 0, "tid": track, "args": {"name": name}}


def _interval(
    start: int, length: int, track: int, kind: str, instruction: int, label: tuple[str, str], region: str
) -> dict[str, Any]:
    origin, opcode = label
    event = {
        "ph": "X",
        "name": _WAITS.get(kind, f"{origin} {opcode}" if origin else opcode),
        "cat": kind,
        "pid": 0,
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
