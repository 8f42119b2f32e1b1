"""Schedules as values of a record, and back: each step by its name, with what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, get_args

from vta.errors import TuningError
from vta.host.loop.steps import Step
from vta.support.shorten import shown

__all__ = ["DEFAULT_SKETCH", "entity_of_steps", "sketch_of", "steps_of"]

DEFAULT_SKETCH = "default"
"""What a record has for a sketch that says: as the kernel is without records."""

_STEPS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Step)}
_LARGEST_FACTOR = 1 << 31

Entity = tuple[tuple[str, str, Any], ...]


def entity_of_steps(sketch: str, choices: Sequence[tuple[str, Any]], steps: Sequence[Step]) -> Entity:
    """A schedule as the knobs of a record: the steps, and, to search on from there, the choices that they were made of."""
    return (("sketch", "ot", sketch), ("choices", "ot", tuple(choices)), ("steps", "ot", tuple(map(_line, steps))))


def _line(step: Step) -> tuple[Any, ...]:
    """A step by its name, and what it says; what is as usual at its end is left out."""
    said = [(getattr(step, item.name), item.default) for item in fields(step)]
    while said and said[-1][0] == said[-1][1]:
        said.pop()
    return (type(step).__name__, *(value for value, _ in said))


def sketch_of(entity: Sequence[tuple[str, str, Any]]) -> tuple[str, dict[str, Any]]:
    """The sketch of a record, and what was chosen for its knobs. Raises `TuningError` if it has none."""
    knobs = {name: value for name, _, value in entity}
    name, choices = knobs.get("sketch"), knobs.get("choices", ())
    pairs = isinstance(choices, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in choices)
    if not isinstance(name, str) or not pairs:
        raise TuningError("no sketch of a schedule, or choices that are no pairs of a name and a value")
    return name, {str(knob): value for knob, value in choices}


def steps_of(entity: Sequence[tuple[str, str, Any]]) -> tuple[Step, ...]:
    """The steps of a record. Raises `TuningError` naming the one that is none."""
    lines = {name: value for name, _, value in entity}.get("steps")
    if not isinstance(lines, tuple):
        raise TuningError("knob steps is missing, or no list of steps")
    return tuple(map(_step, lines))


def _step(line: Any) -> Step:
    kind = _STEPS.get(line[0]) if isinstance(line, tuple) and line and isinstance(line[0], str) else None
    if kind is None:
        raise TuningError(f"{shown(line)} is no step of a schedule; allowed: {', '.join(_STEPS)}")
    entries = fields(kind)
    given = entries[: len(line) - 1]
    complete = len(line) - 1 <= len(entries) and all(entry.default is not MISSING for entry in entries[len(given) :])
    if not complete or not all(map(_fits, (str(entry.type) for entry in given), line[1:])):
        wanted = ", ".join(f"{entry.name}: {entry.type}" for entry in entries)
        raise TuningError(f"{shown(line)} is no {line[0]}; that is: {wanted}")
    step: Step = kind(*line[1:])
    return step


def _fits(kind: str, value: Any) -> bool:
    """Whether a value is of the type of a step's field."""
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST_FACTOR
    if kind in ("str", "bool"):
        return type(value).__name__ == kind
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)
