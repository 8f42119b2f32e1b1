"""Makes a failing model small: one that is still legal and still fails in the same way, with as little in it as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from time import monotonic

import numpy as np

from vta.support.dataclass import dataclass
from vta.testing.import_fuzz.description import Array, Description, Step, Value
from vta.testing.import_fuzz.oracles import OracleError, framework_values

__all__ = ["Case", "shrink"]


@dataclass(frozen=True)
class Case:
    """A model and the data that it fails on."""

    net: Description
    feeds: Mapping[str, Array]


Fails = Callable[[Case], bool]


def shrink(case: Case, fails: Fails, limit_seconds: float = 20.0) -> Case:
    """Return the smallest case found in `limit_seconds` for which `fails` holds, as for `case`."""
    search = _Search(case, fails, monotonic() + limit_seconds)
    while search.round():
        pass
    return search.best


class _Search:
    def __init__(self, case: Case, fails: Fails, deadline: float) -> None:
        self.best = case
        self._fails = fails
        self._deadline = deadline

    def round(self) -> bool:
        """Try every kind of step until none helps; returns whether one helped and time is left."""
        before = self.best
        for candidates in (_fewer_outputs, _cut, _bypassed, _plainer, _smaller, _zeroed):
            self._take(candidates)
        return self.best is not before and monotonic() < self._deadline

    def _take(self, candidates: Callable[[Case], Iterator[Case]]) -> None:
        """Take the first candidate that fails, and look again from there, until none does."""
        found = True
        while found:
            found = False
            for candidate in candidates(self.best):
                if monotonic() > self._deadline:
                    return
                if self._try(candidate):
                    found = True
                    break

    def _try(self, candidate: Case) -> bool:
        net = candidate.net.pruned()
        feeds = {name: candidate.feeds[name] for name in net.inputs}
        if not net.steps or not net.inputs:
            return False
        try:
            declared = net.redeclared(framework_values(net, feeds, every_value=True))
        except OracleError:
            return False
        smaller = Case(declared, feeds)
        if not self._fails(smaller):
            return False
        self.best = smaller
        return True


def _fewer_outputs(case: Case) -> Iterator[Case]:
    if len(case.net.outputs) > 1:
        yield from (replace(case, net=replace(case.net, outputs=(name,))) for name in case.net.outputs)
        for name in case.net.outputs:
            yield replace(case, net=replace(case.net, outputs=tuple(other for other in case.net.outputs if other != name)))


def _cut(case: Case) -> Iterator[Case]:
    """Values that steps compute as inputs or constants; as outputs, last of all."""
    net = case.net
    try:
        values = framework_values(net, case.feeds, every_value=True)
    except OracleError:
        return
    for name in reversed(list(net.computed())):
        if name in net.outputs or name not in values:
            continue
        given = replace(net.values[name], exact=True, data=None)
        yield _given(case, given, values[name], as_input=True)
        yield _given(case, given, values[name], as_input=False)
    for name in net.computed():
        if name not in net.outputs:
            yield replace(case, net=replace(net, outputs=(name,)))


def _given(case: Case, value: Value, data: Array, as_input: bool) -> Case:
    net = case.net
    steps = tuple(_without_output(step, value.name) for step in net.steps)
    before = f"{value.name} before"
    known = {
        **net.values,
        before: replace(net.values[value.name], name=before),
        value.name: value if as_input else replace(value, data=data, style="initializer"),
    }
    inputs = (*net.inputs, value.name) if as_input else net.inputs
    return Case(replace(net, steps=steps, values=known, inputs=inputs), {**case.feeds, value.name: data})


def _without_output(step: Step, name: str) -> Step:
    """A step that computes a value of this name under another one, or not at all where nothing reads it."""
    return replace(step, outputs=tuple(f"{out} before" if out == name else out for out in step.outputs))


def _bypassed(case: Case) -> Iterator[Case]:
    """Steps left out whose result is like what they read."""
    net = case.net
    for index, step in enumerate(net.steps):
        for source in step.inputs[:2]:
            if not source or not step.outputs or source not in net.values:
                continue
            one, other = net.values[source], net.values[step.outputs[0]]
            if (one.shape, one.dtype) == (other.shape, other.dtype) and step.outputs[0] not in net.outputs:
                rest = (*net.steps[:index], *net.steps[index + 1 :])
                steps = tuple(_reading(other_step, step.outputs[0], source) for other_step in rest)
                yield replace(case, net=replace(net, steps=steps))


def _reading(step: Step, name: str, instead: str) -> Step:
    return replace(step, inputs=tuple(instead if source == name else source for source in step.inputs))


def _plainer(case: Case) -> Iterator[Case]:
    """Fewer attributes and optional inputs, plain constants."""
    net = case.net
    for index, step in enumerate(net.steps):
        if net.frontend == "onnx":
            for name in step.attributes:
                attributes = {key: value for key, value in step.attributes.items() if key != name}
                yield _with_step(case, index, replace(step, attributes=attributes))
        for at in range(len(step.inputs) - 1, 1, -1):
            if step.inputs[at]:
                shorter = step.inputs[:at] if at == len(step.inputs) - 1 else (*step.inputs[:at], "", *step.inputs[at + 1 :])
                yield _with_step(case, index, replace(step, inputs=shorter))
    styled = {name for name, value in net.values.items() if value.style != "initializer"}
    if styled:
        yield replace(case, net=replace(net, values={n: replace(v, style="initializer") for n, v in net.values.items()}))
    if net.ir_version < 8:
        yield replace(case, net=replace(net, ir_version=8))
    if any(step.name for step in net.steps):
        yield replace(case, net=replace(net, steps=tuple(replace(step, name="") for step in net.steps)))
    if any(not name.isidentifier() or len(name) > 8 for name in net.values):
        yield _renamed(case)


def _with_step(case: Case, index: int, step: Step) -> Case:
    steps = (*case.net.steps[:index], step, *case.net.steps[index + 1 :])
    return replace(case, net=replace(case.net, steps=steps))


def _renamed(case: Case) -> Case:
    net = case.net
    names = {"": ""} | {name: f"t{index}" for index, name in enumerate(net.values)}

    def many(given: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names[name] for name in given)

    return Case(
        replace(
            net,
            values={names[name]: replace(value, name=names[name]) for name, value in net.values.items()},
            steps=tuple(replace(step, inputs=many(step.inputs), outputs=many(step.outputs)) for step in net.steps),
            inputs=many(net.inputs),
            outputs=many(net.outputs),
        ),
        {names[name]: data for name, data in case.feeds.items()},
    )


def _smaller(case: Case) -> Iterator[Case]:
    """Dimensions cut to 1, to a half, by one: all that are of one size, those of one axis, a single one."""
    net = case.net
    arrays = {**case.feeds, **net.constants()}
    places = [(name, axis, dim) for name, array in arrays.items() for axis, dim in enumerate(array.shape) if dim > 1]
    for size in sorted({dim for *_, dim in places}, reverse=True):
        same = [(name, axis) for name, axis, dim in places if dim == size]
        groups = [same, *([place for place in same if place[1] == axis] for axis in sorted({axis for _, axis in same}))]
        groups += [[place] for place in same]
        for group in groups:
            for to in dict.fromkeys((1, size // 2, size - 1)):
                if to:
                    yield _cropped(case, group, to)


def _cropped(case: Case, places: list[tuple[str, int]], to: int) -> Case:
    feeds, known = dict(case.feeds), dict(case.net.values)
    for name, axis in places:
        value = known[name]
        array = feeds[name] if value.data is None else value.data
        part = np.ascontiguousarray(array[(slice(None),) * axis + (slice(to),)])
        if value.data is None:
            feeds[name], known[name] = part, replace(value, shape=part.shape)
        else:
            scales = value.scales[:to] if len(value.scales) > 1 and value.axis == axis else value.scales
            zeros = value.zero_points[:to] if len(value.zero_points) > 1 and value.axis == axis else value.zero_points
            known[name] = replace(value, shape=part.shape, data=part, scales=scales, zero_points=zeros)
    return Case(replace(case.net, values=known), feeds)


def _zeroed(case: Case) -> Iterator[Case]:
    """Data that are mostly zeros."""
    for name, array in {**case.feeds, **case.net.constants()}.items():
        if array.size < 2 or not array.any() or array.dtype == np.int64:
            continue
        yield _filled(case, name, np.zeros_like(array))
        flat = array.reshape(-1)
        nonzero = np.flatnonzero(flat)
        for kept in (nonzero[: len(nonzero) // 2], nonzero[len(nonzero) // 2 :]):
            if 0 < len(kept) < len(nonzero):
                part = np.zeros_like(flat)
                part[kept] = flat[kept]
                yield _filled(case, name, part.reshape(array.shape))


def _filled(case: Case, name: str, data: Array) -> Case:
    value = case.net.values[name]
    if value.data is None:
        return replace(case, feeds={**case.feeds, name: data})
    return replace(case, net=replace(case.net, values={**case.net.values, name: replace(value, data=data)}))
