"""Tuning records: one JSON line a trial, in the published schema, which ours extend."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from vta.autotune.measurement import ErrorKind, Measurement
from vta.autotune.pickled import from_pickled, is_pickled, to_pickled
from vta.autotune.workload import Workload
from vta.config import HardwareConfig
from vta.errors import TuningError

__all__ = [
    "Line",
    "Record",
    "RecordLog",
    "RegionPlace",
    "line_start",
    "parse_line",
    "pick_best",
    "read_log",
    "record_of",
    "target_of",
    "to_line",
    "to_pickled_line",
    "with_scalar_operands",
]

_VERSION = 0.2


@dataclass(frozen=True)
class RegionPlace:
    """For which operator of which region a schedule was chosen, together with those of the other operators."""

    region: str
    """`vta.autotune.region_records.region_identity` of the region."""
    choice: str
    """What the schedules that were chosen together have in common."""
    position: int
    """Of the operator in the region."""
    operators: int
    """How many operators the choice has a schedule for."""
    cycles: int
    """Of the whole region."""

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, values: Any) -> RegionPlace:
        """Rebuild from JSON values. Raises `KeyError`, `TypeError` or `ValueError` if they are none."""
        region, choice = str(values["region"]), str(values["choice"])
        return cls(region, choice, int(values["position"]), int(values["operators"]), int(values["cycles"]))


@dataclass(frozen=True)
class Record:
    """One trial: a schedule of a workload on a config, and what it cost."""

    target: str
    """E.g. ``ext_dev -device=vta -keys=cpu -model=pynq_1x16_i8w8a32_15_15_18_17``."""
    workload: Workload
    entity: tuple[tuple[str, str, Any], ...]
    index: int
    """Of the point in the space that the record's writer had."""
    costs: tuple[float, ...]
    """Seconds of one run, one entry a repeat."""
    error: int = 0
    """An `ErrorKind`."""
    all_cost: float = 0.0
    """Seconds that the trial took."""
    timestamp: float = 0.0
    cycles: int | None = None
    device: str = ""
    """Where it was measured; empty in published records."""
    place: RegionPlace | None = None
    """Set where the schedule was chosen for one operator of a region; costs and cycles are those of the operator alone."""

    @property
    def model(self) -> str:
        """The config, as `HardwareConfig.model` writes it; empty for targets other than VTA."""
        words = dict(word.split("=", 1) for word in self.target.split() if "=" in word)
        return words.get("-model", "") if words.get("-device") == "vta" else ""

    @property
    def cost(self) -> float:
        """Mean seconds of a run, infinite if it failed."""
        return sum(self.costs) / len(self.costs) if self.costs and self.error == ErrorKind.NONE else float("inf")


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
    cycles, error = result.cycles, int(result.error)
    return Record(target, workload, tuple(entity), index, result.costs, error, result.seconds, result.timestamp, cycles, device)


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
        if record.place is not None:
            values["vta"]["region"] = record.place.to_json()
    return values


def parse_line(text: str, number: int = 0) -> Line:
    """Read one line of a log, of the published versions 0.1 and 0.2 in JSON or pickled, or ours."""
    line = Line(number, text)
    if line.comment:
        return line
    try:
        if is_pickled(text):
            return replace(line, record=_record(from_pickled(text)))
        return replace(line, record=_record(json.loads(text)))
    except json.JSONDecodeError as error:
        cut = "; the line may have been cut off" if not text.endswith("\n") else ""
        return replace(line, problem=f"not JSON: {error.msg} at column {error.colno}{cut}")
    except TuningError as error:
        return replace(line, problem=str(error))


def read_log(path: str | Path) -> list[Line]:
    """Read all lines of a log. Raises `TuningError` if the file cannot be read."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TuningError(f"{path}: cannot be read: {error}") from None
    return [parse_line(line, number) for number, line in enumerate(text.splitlines(keepends=True), 1)]


def pick_best(records: Iterable[Record]) -> list[Record]:
    """The cheapest record of each config and workload, in the order in which these come first; failed ones count for nothing."""
    best: dict[tuple[str, Workload], Record] = {}
    for record in records:
        key = (record.target, record.workload)
        if record.cost < float("inf") and (key not in best or record.cost < best[key].cost):
            best[key] = record
    return list(best.values())


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
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise TuningError(f"{self.path}: cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                data = b"\n" + data
            os.write(handle, data)
        finally:
            os.close(handle)


def _record(values: Any) -> Record:
    if not isinstance(values, dict):
        raise TuningError(f"a record is a JSON object, got {type(values).__name__}")
    try:
        if "input" in values:
            return _current(values)
        if "i" in values and "r" in values:
            return _version_1(values)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise TuningError(f"a field is missing or malformed: {type(error).__name__}: {error}") from None
    raise TuningError(f"neither 'input' nor 'i' among the keys {', '.join(values)}")


def _current(values: dict[str, Any]) -> Record:
    if values.get("version") not in (0.2, 0.3):
        raise TuningError(f"version {values.get('version')!r} is unknown; allowed: 0.2, 0.3")
    target, name, args = values["input"][:3]
    config, result = values["config"], values["result"]
    ours = values.get("vta", {})
    return Record(
        str(target),
        Workload.from_json(name, _without_second_layout(name, args)),
        _entity(config["entity"]),
        int(config["index"]),
        tuple(float(cost) for cost in result[0]),
        int(result[1]),
        float(result[2]),
        float(result[3]),
        ours.get("cycles"),
        str(ours.get("device", "")),
        RegionPlace.from_json(ours["region"]) if "region" in ours else None,
    )


def _without_second_layout(name: str, args: list[Any]) -> list[Any]:
    """Some published records of convolutions give the layout twice."""
    return [*args[:6], args[-1]] if name == "conv2d_packed.vta" and len(args) == 8 else args


_OLD_NAMES = {
    "conv2d": "conv2d_packed.vta",
    "group_conv2d_nchw": "group_conv2d_packed.vta",
    "conv2d_transpose_nchw": "conv2d_transpose_packed.vta",
    "dense": "dense_packed.vta",
}


def _version_1(values: dict[str, Any]) -> Record:
    """The first version names the operator and its shapes in the fifth entry of its input."""
    if values.get("v") != 0.1:
        raise TuningError(f"version {values.get('v')!r} is unknown; allowed with the key 'i': 0.1")
    target, _, _, _, workload, config = values["i"][:6]
    costs, error, all_cost, timestamp = values["r"]
    name, *args = workload
    converted = [_old_argument(arg) for arg in args]
    vta = "-device=vta" in target
    if vta and len(converted) > 3 and isinstance(converted[3], (list, tuple)) and len(converted[3]) == 2:
        # Padding was one value per axis.
        converted[3] = [*converted[3], *converted[3]]
    return Record(
        str(target),
        Workload.from_json(_OLD_NAMES.get(name, name) if vta else name, converted),
        _entity(config["e"]),
        int(config["i"]),
        tuple(float(cost) for cost in costs),
        int(error),
        float(all_cost),
        float(timestamp),
    )


def _old_argument(arg: Any) -> Any:
    """Tensors were their shape followed by the data type."""
    if isinstance(arg, list) and arg and isinstance(arg[-1], str):
        return ["TENSOR", arg[:-1], arg[-1]]
    return arg


def _entity(values: Any) -> tuple[tuple[str, str, Any], ...]:
    return tuple((str(name), str(kind), tuple(value) if isinstance(value, list) else value) for name, kind, value in values)
