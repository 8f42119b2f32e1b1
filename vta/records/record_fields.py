"""From the values of a line to a record. A line may hold anything: each field is of its type and in its range, or is named."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from vta.errors import TuningError
from vta.records.measurement import ErrorKind
from vta.records.record import Record, RegionPlace
from vta.records.workload import Workload
from vta.support.shorten import printable, shown

__all__ = ["record_of_values"]

_KNOB_KINDS = ("sp", "ot", "an", "re")
"""Splits, options, annotations and orders."""
_MOST_VALUES = 10_000
"""Of the arguments of a workload, or of a knob; real ones have some twenty."""
_DEEPEST = 8
_LONGEST_TEXT = 1000
_LARGEST_SIZE = 1 << 31
_LARGEST_COUNT = 1 << 63

_OLD_NAMES = {
    "conv2d": "conv2d_packed.vta",
    "group_conv2d_nchw": "group_conv2d_packed.vta",
    "conv2d_transpose_nchw": "conv2d_transpose_packed.vta",
    "dense": "dense_packed.vta",
}


def record_of_values(values: Any, workload: Workload | None = None) -> Record:
    """The record that the JSON values of a line are, of the published versions 0.1 to 0.3; with `workload`, of that one.

    Raises `TuningError` naming the field that is missing or not what it has to be.
    """
    if not isinstance(values, dict):
        raise TuningError(f"a record is a JSON object, got {type(values).__name__}")
    if "input" in values:
        return _current(values, workload)
    if "i" in values and "r" in values:
        return _version_1(values)
    raise TuningError(f"neither 'input' nor 'i' among the keys {printable(', '.join(map(str, values)), 80)}")


def _current(values: Mapping[str, Any], workload: Workload | None) -> Record:
    if values.get("version") not in (0.2, 0.3):
        raise TuningError(f"version {shown(values.get('version'))} is unknown; allowed: 0.2, 0.3")
    target, name, args = _entries(values["input"], "input", 3)[:3]
    config = _object(_field(values, "config"), "config")
    return _record(
        target,
        _name(name),
        _without_second_layout(name, _entries(args, "the arguments of the workload", 0)),
        (_field(config, "entity", "config: "), _field(config, "index", "config: ")),
        _entries(_field(values, "result"), "result", 4),
        _object(values["vta"], "vta") if "vta" in values else {},
        workload,
    )


def _version_1(values: Mapping[str, Any]) -> Record:
    """The first version names the operator and its shapes in the fifth entry of its input."""
    if values.get("v") != 0.1:
        raise TuningError(f"version {shown(values.get('v'))} is unknown; allowed with the key 'i': 0.1")
    target, _, _, _, workload, config = _entries(values["i"], "i", 6)[:6]
    name, *args = _entries(workload, "the workload", 1)
    name, config = _name(name), _object(config, "the config")
    converted = [_old_argument(arg) for arg in args]
    vta = "-device=vta" in _text(target, "the target")
    if vta and len(converted) > 3 and isinstance(converted[3], (list, tuple)) and len(converted[3]) == 2:
        # Padding was one value per axis.
        converted[3] = [*converted[3], *converted[3]]
    knobs = _field(config, "e", "the config: "), _field(config, "i", "the config: ")
    return _record(target, _OLD_NAMES.get(name, name) if vta else name, converted, knobs, _entries(values["r"], "r", 4), {})


def _record(
    target: Any,
    name: str,
    args: list[Any],
    config: tuple[Any, Any],
    result: list[Any],
    ours: Mapping[str, Any],
    workload: Workload | None = None,
) -> Record:
    error = _whole(result[1], "the error code", 0, max(ErrorKind))
    cycles = ours.get("cycles")
    return Record(
        _text(target, "the target"),
        workload or Workload.from_json(name, _plain(args, lambda: "the arguments of the workload")),
        _entity(config[0]),
        _whole(config[1], "the index", -1, _LARGEST_COUNT),
        _costs(result[0], error),
        error,
        _number(result[2], "the seconds of the trial"),
        _number(result[3], "the time of the trial"),
        None if cycles is None else _whole(cycles, "vta: cycles", 0, _LARGEST_COUNT),
        _text(ours.get("device", ""), "vta: device"),
        _place(ours["region"]) if "region" in ours else None,
        *_energy(ours),
    )


def _costs(value: Any, error: int) -> tuple[float, ...]:
    """Of a trial that failed, whatever numbers stand there."""
    costs = tuple(_number(cost, "a cost") for cost in _entries(value, "the costs", 0 if error else 1))
    bad = [cost for cost in costs if cost <= 0]
    if not error and (bad or not math.isfinite(sum(costs))):
        raise TuningError(f"a cost is {shown(bad[0] if bad else max(costs))}; allowed: seconds, above 0")
    return costs


def _energy(ours: Mapping[str, Any]) -> tuple[float | None, str]:
    """Energy in pJ and the technology that it is by, where a record has them."""
    if "energy_pj" not in ours:
        return None, ""
    technology = _text(_field(ours, "technology", "vta: "), "vta: technology")
    return _picojoules(ours["energy_pj"], "vta: energy_pj"), technology


def _picojoules(value: Any, what: str) -> float:
    energy = _number(value, what)
    if energy <= 0:
        raise TuningError(f"{what} is {shown(value)}; allowed: picojoules, above 0")
    return energy


def _place(value: Any) -> RegionPlace:
    where = "vta: region: "
    place = _object(value, "vta: region")
    region, choice = (_text(_field(place, name, where), f"{where}{name}") for name in ("region", "choice"))
    position = _whole(_field(place, "position", where), f"{where}position", 0, _LARGEST_SIZE)
    operators = _whole(_field(place, "operators", where), f"{where}operators", 1, _LARGEST_SIZE)
    cycles = _whole(_field(place, "cycles", where), f"{where}cycles", 1, _LARGEST_COUNT)
    energy = _picojoules(place["energy_pj"], f"{where}energy_pj") if "energy_pj" in place else None
    return RegionPlace(region, choice, position, operators, cycles, energy)


def _entity(value: Any) -> tuple[tuple[str, str, Any], ...]:
    knobs = []
    for knob in _entries(value, "the knobs", 0):
        if not isinstance(knob, (list, tuple)) or len(knob) != 3 or knob[1] not in _KNOB_KINDS:
            raise TuningError(f"a knob is {shown(knob)}; allowed: [name, kind, value] with a kind of {', '.join(_KNOB_KINDS)}")
        knobs.append((_text(knob[0], "the name of a knob"), str(knob[1]), _plain(knob[2], partial("knob {}".format, knob[0]))))
    return tuple(knobs)


def _knob(name: str) -> str:
    return f"knob {shown(name)}"


def _without_second_layout(name: Any, args: list[Any]) -> list[Any]:
    """Some published records of convolutions give the layout twice."""
    return [*args[:6], args[-1]] if name == "conv2d_packed.vta" and len(args) == 8 else args


def _old_argument(arg: Any) -> Any:
    """Tensors were their shape followed by the data type."""
    if isinstance(arg, list) and arg and isinstance(arg[-1], str):
        return ["TENSOR", arg[:-1], arg[-1]]
    return arg


def _field(values: Mapping[str, Any], name: str, where: str = "") -> Any:
    if name not in values:
        raise TuningError(f"{where}{name} is missing")
    return values[name]


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TuningError(f"{what} is {shown(value)}; allowed: an object")
    return value


def _entries(value: Any, what: str, least: int) -> list[Any]:
    if not isinstance(value, (list, tuple)) or len(value) < least:
        raise TuningError(f"{what}: {shown(value)}; allowed: a list of {least} or more entries")
    return list(value)


def _name(value: Any) -> str:
    return _text(value, "the name of the workload")


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not value.isprintable():
        raise TuningError(f"{what} is {shown(value)}; allowed: a printable text of up to {_LONGEST_TEXT} characters")
    return value


def _number(value: Any, what: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LARGEST_COUNT:
        return float(value)
    raise TuningError(f"{what} is {shown(value)}; allowed: a number")


def _whole(value: Any, what: str, low: int, high: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return int(value)
    raise TuningError(f"{what} is {shown(value)}; allowed: integers {low} to {high}")


def _plain(value: Any, what: Callable[[], str]) -> Any:
    """Lists, also in lists, of texts, numbers and nothing; tensors are ``["TENSOR", sizes, type]``.

    How much is looked at is limited: parts of a pickle may be shared, and then written out they are many.
    """
    left = [_MOST_VALUES]

    def copied(item: Any, depth: int) -> Any:
        left[0] -= 1
        if left[0] < 0 or depth > _DEEPEST:
            raise TuningError(f"{what()}: more than {_MOST_VALUES:,} values, or nested more than {_DEEPEST} deep")
        if isinstance(item, (list, tuple)):
            entries = tuple(copied(entry, depth + 1) for entry in item)
            if entries[:1] == ("TENSOR",):
                _check_tensor(entries)
            return entries
        if isinstance(item, str):
            return item if item.isprintable() and len(item) <= _LONGEST_TEXT else _text(item, what())
        if item is None or isinstance(item, bool):
            return item
        if isinstance(item, (int, float)) and abs(item) < _LARGEST_COUNT:
            return item
        raise TuningError(f"{what()}: {shown(item)}; allowed: texts, numbers, and lists of them")

    return copied(value, 0)


def _check_tensor(entries: tuple[Any, ...]) -> None:
    sizes = entries[1] if len(entries) == 3 else None
    if not isinstance(sizes, tuple) or not isinstance(entries[2], str):
        raise TuningError(f"a tensor is {shown(entries)}; allowed: ['TENSOR', sizes, type]")
    for size in sizes:
        _whole(size, "a size of a tensor", 0, _LARGEST_SIZE)
