"""Runs two sides on the same inputs, and says where they first differ and what made the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vta.compiler.options import CompileOptions
from vta.devices.device import Device
from vta.difference.cause import Cause, constant_cause, instruction_cause, operator_cause, pass_cause
from vta.difference.device_values import RegionInputs
from vta.difference.difference import Difference, FirstDifference
from vta.difference.first import by_layer, by_node, compare
from vta.difference.instructions import first_instruction
from vta.difference.known_values import KnownValues
from vta.difference.programs import JUDGES, judge_of, region_of
from vta.difference.sides import FrameworkSide, ModelSide, ModuleSide, RemoteSide, Side
from vta.difference.stages import Compilation, compiled_again
from vta.difference.values import Array, LayerValue, Where
from vta.errors import DeviceError, UsageError
from vta.ir.graph import Graph
from vta.ir.printer import print_graph
from vta.isa.instruction_text import format_instructions
from vta.isa.program import Program
from vta.runtime.compiled_module import CompiledModule
from vta.support.dataclass import dataclass

__all__ = ["find_difference"]

_INLINE = "inline"
_DEFAULT = CompileOptions()


def find_difference(left: Side, right: Side, inputs: Mapping[str, Array], options: CompileOptions = _DEFAULT) -> Difference:
    """Compare two runs on `inputs`, value by value in the order of `left`.

    `options` are those that the network was compiled with: where a pass is sought, it is compiled again.
    Raises a `VTAError` if a side cannot run.
    """
    (ours, our_inputs), (theirs, their_inputs) = (_ran(side, inputs) for side in (left, right))
    key = by_node if _same_graph(left, right) else by_layer
    found = compare(ours, theirs, key)
    if not found.compared:
        raise UsageError(f"{left.name} and {right.name} have no layer or output in common that could be compared")
    if found.first is None:
        return Difference(left.name, right.name, found.compared)
    first = found.first
    runs = _Run(left, first.left, ours, our_inputs), _Run(right, first.right, theirs, their_inputs)
    search = _Search(runs, inputs, options)
    told = FirstDifference(
        first.left.layer,
        first.left.tensor,
        first.index,
        first.left.array[first.index].item(),
        first.right.array[first.index].item(),
        first.differing,
        first.total,
        cause := search.cause(),
        "" if cause is not None else "; ".join(_silent(side) for side in (left, right) if isinstance(side, RemoteSide)),
    )
    return Difference(left.name, right.name, found.compared, told)


def _silent(side: RemoteSide) -> str:
    return f"{side.name} tells its outputs alone: {side.reason}"


def _ran(side: Side, inputs: Mapping[str, Array]) -> tuple[list[LayerValue], RegionInputs]:
    """The values of a side, and what its regions were given, if it runs them."""
    given: RegionInputs = {}
    values = side.values(inputs, given) if isinstance(side, ModuleSide) else side.values(inputs)
    return list(values), given


def _same_graph(left: Side, right: Side) -> bool:
    """Whether nodes of the same number are the same node: of graphs that read the same."""
    if not isinstance(left, ModuleSide) or not isinstance(right, ModuleSide):
        return False
    return left.module is right.module or print_graph(left.graph) == print_graph(right.graph)


@dataclass(frozen=True, eq=False)
class _Run:
    """One side, its value that differs first, and all of its values."""

    side: Side
    value: LayerValue
    values: Sequence[LayerValue]
    given: RegionInputs
    """What the regions were given."""


class _Search:
    """Looks for what made the first difference."""

    def __init__(self, runs: tuple[_Run, _Run], inputs: Mapping[str, Array], options: CompileOptions) -> None:
        self._runs = runs
        self._known = KnownValues(inputs)
        self._options = options

    def cause(self) -> Cause | None:
        """What made it; None if that cannot be found out."""
        return self._of_two_devices() or self._of_a_program() or self._of_a_graph() or self._of_an_operator()

    def _of_two_devices(self) -> Cause | None:
        """Both run one program, and one of them wrongly."""
        left, right = (run.side for run in self._runs)
        ours, theirs = (run.value.where for run in self._runs)
        if not isinstance(left, ModuleSide) or not isinstance(right, ModuleSide) or left.device is None or right.device is None:
            return None
        if ours is None or theirs is None or not _same_program(ours.region.program, theirs.region.program):
            return None
        return _instruction(left, self._runs[0], ours, right.device)

    def _of_a_program(self) -> Cause | None:
        """A device gives something else than the graph of what it runs: the device is wrong, or the program."""
        for run in self._runs:
            side = run.side
            if not isinstance(side, ModuleSide) or run.value.where is None or side.device is None:
                continue
            wrong = self._right_elsewhere(run) or _first_wrong(side.graph, run, self._known)
            if wrong is None:
                continue
            value, right = wrong
            assert value.where is not None, "the value is of a program"
            return _against_judges(side, run, value.where) or self._of_passes(side.module, value.layer, right)
        return None

    def _right_elsewhere(self, run: _Run) -> tuple[LayerValue, Array] | None:
        """The first difference, where the other side is the reference of the same graph: then it is right."""
        other = next(entry for entry in self._runs if entry is not run)
        is_reference = isinstance(other.side, ModuleSide) and other.side.device is None and _same_graph(run.side, other.side)
        return (run.value, other.value.array) if is_reference else None

    def _of_passes(self, module: CompiledModule, layer: str, right: Array) -> Cause | None:
        """The program does not compute what the graph says: a pass below the graph, or the file."""
        again = compiled_again(module.graph, module.hw, self._options, _INLINE)
        return again.cause(layer, right, self._known) or _of_the_file(module, again, layer, right)

    def _of_a_graph(self) -> Cause | None:
        """The graph of a compiled network is not what its model says."""
        models = [(run.side, run.value) for run in self._runs if isinstance(run.side, (ModelSide, FrameworkSide))]
        modules = [run.side for run in self._runs if isinstance(run.side, ModuleSide)]
        if not models:
            return None
        model, value = models[0]
        if not modules:
            return pass_cause("import") if len(models) == 2 else None
        again = compiled_again(model.model, modules[0].module.hw, self._options)
        return again.cause(value.layer, value.array, self._known) or _of_another_graph(modules[0].graph, again)

    def _of_an_operator(self) -> Cause | None:
        """The host, or a framework, gives another value."""
        value = self._runs[0].value
        if any(run.value.where is not None for run in self._runs) or not value.op:
            return None
        return operator_cause(value.op, f"of {value.layer}")


def _instruction(side: ModuleSide, run: _Run, where: Where, other: Device) -> Cause | None:
    """The first instruction, as far as where a value is stored, after which the device does something else than `other`."""
    assert side.device is not None, "the side runs on a device"
    number = next(index for index, entry in enumerate(side.module.regions) if entry is where.region)
    try:
        return first_instruction(where, side.device, other, run.given[number])
    except DeviceError:
        return None


def _against_judges(side: ModuleSide, run: _Run, where: Where) -> Cause | None:
    """Where the device does something else than the simulator."""
    for kernel in JUDGES:
        judge = judge_of(where.region, kernel)
        try:
            if found := _instruction(side, run, where, judge):
                return found
        finally:
            judge.close()
    return None


def _first_wrong(graph: Graph, run: _Run, known: KnownValues) -> tuple[LayerValue, Array] | None:
    """The first value of a program that is not what the references give, up to the one that differs; and what they give."""
    number = next(index for index, value in enumerate(run.values) if value is run.value)
    made = [value for value in run.values[: number + 1] if value.where is not None and value.number >= 0]
    nodes = graph.nodes()
    right = known.of(graph, [nodes[value.number] for value in made])
    for value in made:
        if not np.array_equal(right[nodes[value.number]], value.array):
            return value, right[nodes[value.number]]
    return None


def _same_program(left: Program, right: Program) -> bool:
    return bool(np.array_equal(left.instructions, right.instructions) and np.array_equal(left.image, right.image))


def _of_another_graph(graph: Graph, again: Compilation) -> Cause | None:
    """What is compiled now is right, so that the file was made in another way."""
    state = again.last
    if state.module is None or print_graph(state.module.graph) == print_graph(graph):
        return None
    return Cause("file", "the compiled network", detail="compiling the model now gives another graph, and the right values")


def _of_the_file(module: CompiledModule, again: Compilation, layer: str, like: Array) -> Cause | None:
    """All passes give what is right now: where the program of the file is another one."""
    made = again.last.module
    ours, theirs = (region_of(entry.regions if entry else (), layer, like) for entry in (module, made))
    if ours is None or theirs is None:
        return None
    left, right = ours.program, theirs.program
    if len(left.instructions) != len(right.instructions):
        return Cause("file", "the compiled network", ours.name, detail="compiling its graph now gives another program")
    differing = np.flatnonzero(left.instructions != right.instructions)
    if len(differing):
        index = int(differing[0])
        texts = [next(iter(format_instructions(program.instructions[index : index + 1]))) for program in (left, right)]
        return instruction_cause(texts[0], ours.name, index, f"compiling now gives {texts[1]}")
    return _of_images(left, right, ours.name)


def _of_images(left: Program, right: Program, region: str) -> Cause | None:
    size = min(left.image.size, right.image.size)
    differing = np.flatnonzero(left.image[:size] != right.image[:size])
    if not len(differing):
        return None
    at = int(differing[0])
    holders = [symbol.name for symbol in left.symbols if symbol.offset <= at < symbol.offset + symbol.nbytes]
    return constant_cause(holders[0] if holders else "image", region, f"byte {at} is not what compiling gives now")
