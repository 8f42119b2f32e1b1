"""Tuning records: one JSON line a trial, in the published schema, which ours extend."""

from __future__ import annotations

import fcntl
import json
import math
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from vta.config.hardware import HardwareConfig
from vta.errors import TuningError
from vta.files.atomic_file import reason_of
from vta.files.text_lines import START_BYTES, TextLine, may_be_objects, may_hold_objects, text_lines
from vta.records.measurement import Measured, Measurement
from vta.records.objective import FEWEST_CYCLES, Objective
from vta.records.record import Record, RegionPlace
from vta.records.record_fields import record_of_values
from vta.records.workload import Workload
from vta.support.dataclass import dataclass
from vta.support.shorten import printable, shown

__all__ = [
    "Line",
    "Record",
    "RecordLog",
    "RegionPlace",
    "line_start",
    "parse_line",
    "pick_best",
    "ranked_records",
    "read_log",
    "record_of",
    "target_of",
    "to_line",
    "to_pickled_line",
    "with_scalar_operands",
]

_VERSION = 0.2
_PICKLED_FIELDS = 6
_LONGEST_LINE = 4 << 20
"""Bytes. Real ones have a few hundred."""
_LONGEST_PROBLEM = 300


@dataclass(frozen=True)
class Line:
    """A line of a log: a record, a comment, or neither and then why."""

    number: int
    text: str
    record: Record | None = None
    problem: str = ""

    @property
    def comment(self) -> bool:
        """Whether it is a comment or blank."""
        return not self.text.strip() or self.text.lstrip().startswith("#")


def record_of(
    workload: Workload, hw: HardwareConfig, entity: Sequence[tuple[str, str, Any]], index: int, result: Measurement, device: str
) -> Record:
    """The record of a trial."""
    target = target_of(hw.model)
    return Record(
        target, workload, tuple(entity), index, result.costs, int(result.error), result.seconds, result.timestamp,
        result.cycles, device, energy_pj=result.energy_pj, technology=result.technology,
    )  # fmt: skip


def line_start(target: str, workload: Workload) -> str:
    """How the lines of all records of a config and workload start, as `to_line` writes them."""
    return json.dumps({"input": _input(target, workload)})[:-1] + ", "


def target_of(model: str) -> str:
    """The target of records for a config, given as `HardwareConfig.model`."""
    return f"ext_dev -device=vta -keys=cpu -model={model}"


def _input(target: str, workload: Workload) -> list[Any]:
    return [target, *workload.to_json(), {}]


def to_line(record: Record) -> str:
    """A record as a line of a log, with its line break."""
    return json.dumps(_values(record)) + "\n"


def to_pickled_line(record: Record) -> str:
    """A record in the pickled form, with its line break; device, cycles and the place in a region are not in it."""
    from vta.records.pickled import to_pickled

    return to_pickled(_values(record))


def _values(record: Record) -> dict[str, Any]:
    costs = list(record.costs) or [1e9]
    values: dict[str, Any] = {
        "input": _input(record.target, record.workload),
        "config": {"index": record.index, "code_hash": None, "entity": record.entity},
        "result": [costs, record.error, record.all_cost, record.timestamp],
        "version": _VERSION,
        "tvm_version": "0.8.0",
    }
    if record.device:
        values["vta"] = {"device": record.device, "cycles": record.cycles}
        if record.energy_pj is not None:
            values["vta"] |= {"energy_pj": record.energy_pj, "technology": record.technology}
        if record.place is not None:
            values["vta"]["region"] = record.place.to_json()
    return values


def parse_line(text: str, number: int = 0, workload: Workload | None = None) -> Line:
    """Read one line of a log, of the published versions 0.1 to 0.3 in JSON or pickled, or ours. What is wrong is its problem.

    A line that is known to be of a `workload`, see `line_start`, is not searched for it: that takes most of the time.
    """
    line = Line(number, text)
    if line.comment:
        return line
    try:
        return replace(line, record=record_of_values(_pickled(text) if _is_pickled(text) else _json(text), workload))
    except TuningError as error:
        return replace(line, problem=printable(str(error), _LONGEST_PROBLEM))
    except RecursionError:
        return replace(line, problem="nested too deeply")


def _pickled(text: str) -> dict[str, Any]:
    # The form of old logs: its module imports what no other log needs.
    from vta.records.pickled import from_pickled

    return from_pickled(text)


def _is_pickled(text: str) -> bool:
    """Whether a line has the fields of the pickled form."""
    return text.count("\t") == _PICKLED_FIELDS - 1 and not text.lstrip().startswith("{")


def read_log(path: str | Path) -> list[Line]:
    """Read all lines of a log. Raises `TuningError` if the file cannot be read, or is none: a model, say, or no regular file."""
    lines = [_line(path, line) for line in text_lines(path, _LONGEST_LINE, TuningError)]
    if not any(line.record for line in lines) and not may_hold_objects(path):
        raise _no_log(path)
    return lines


def _no_log(path: str | Path) -> TuningError:
    return TuningError(f"{path}: it is no log of records: what it holds is not text")


def _line(path: str | Path, given: TextLine) -> Line:
    line = Line(given.number, given.text)
    if line.comment:
        return line
    if given.problem:
        return Line(given.number, printable(given.text), problem=given.problem)
    line = parse_line(given.text, given.number)
    return line if line.record is None else replace(line, record=replace(line.record, source=f"{path}:{given.number}"))


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        cut = "; the line may have been cut off" if not text.endswith("\n") else ""
        raise TuningError(f"not JSON: {error.msg} at column {error.colno}{cut}") from None
    except ValueError as error:  # Of integers with more digits than Python converts.
        raise TuningError(f"not JSON: {error}") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise TuningError(f"key {shown(Counter(name for name, _ in pairs).most_common(1)[0][0])} is given twice")
    return values


def _no_number(name: str) -> NoReturn:
    raise TuningError(f"{name} is no number of JSON")


def pick_best(records: Iterable[Record], objective: Objective = FEWEST_CYCLES) -> list[Record]:
    """The best record of each config and workload, in the order in which these come first; failed ones count for nothing.

    Of costs of different kinds only those of the most trusted kind count: see `vta.records.measurement.Measured`.
    """
    return [ranked[0] for ranked in ranked_records(records, objective).values()]


def ranked_records(records: Iterable[Record], objective: Objective = FEWEST_CYCLES) -> dict[tuple[str, Workload], list[Record]]:
    """The records of each target and workload that have a cost, the best first: by kind of cost, then by the objective.

    Those whose energy is not known come after all others of their kind where energy matters.
    """
    found: dict[tuple[str, Workload], list[Record]] = {}
    for record in records:
        if math.isfinite(record.cost):
            found.setdefault((record.target, record.workload), []).append(record)

    def place(record: Record) -> tuple[Measured, float, float]:
        return record.measured, objective.of(record), record.cost

    return {key: sorted(same, key=place) for key, same in found.items()}


def with_scalar_operands(records: Iterable[Record]) -> Iterator[Record]:
    """The records, and beside each of an ALU operator with two equal shapes one whose second operand is a scalar."""
    for record in records:
        yield record
        workload = record.workload
        if workload.name in ("add.vta", "multiply.vta") and len(workload.tensors) == 2:
            first, second = workload.args[:2]
            if first[1] == second[1]:
                scalar = ("TENSOR", (), second[2])
                yield replace(record, workload=replace(workload, args=(first, scalar, *workload.args[2:])))


def _append_lines(handle: int, data: bytes, size: int) -> None:
    """Write lines behind a file's first `size` bytes; where there is no room for all, those that are whole stay."""
    written = 0
    try:
        while written < len(data):
            written += os.write(handle, data[written:])
    except OSError:
        os.ftruncate(handle, size + data.rfind(b"\n", 0, written) + 1)
        raise


class RecordLog:
    """A log that is only ever appended to: a line at a time, whole or not at all, by any number of processes."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def append(self, records: Iterable[Record]) -> None:
        """Write records at the end; a last line that an earlier writer left unfinished is closed first.

        Raises `TuningError` if the file cannot be written.
        """
        data = "".join(to_line(record) for record in records).encode()
        if not data:
            return
        try:
            self._write(data)
        except OSError as error:
            raise TuningError(f"{self.path}: cannot be written: {reason_of(error, self.path)}") from None

    def _write(self, data: bytes) -> None:
        # Not to wait for the other end of a pipe.
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise TuningError(f"{self.path}: it is no regular file: a log of records is one")
            if not may_be_objects(os.pread(handle, START_BYTES, 0)):
                raise _no_log(self.path)
            fcntl.flock(handle, fcntl.LOCK_EX)
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                data = b"\n" + data
            _append_lines(handle, data, size)
        finally:
            os.close(handle)
