"""The compiler as a list of named passes over four levels, run in order and watched after any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from vta.codegen.dump import Level, program_text, tile_text
from vta.codegen.region_program import RegionProgram
from vta.compiler import passes
from vta.compiler.options import CompileOptions
from vta.compiler.state import State
from vta.errors import UsageError
from vta.ir.printer import print_graph
from vta.support.dataclass import dataclass

__all__ = ["PASSES", "Pass", "dump", "pass_named", "passes_between", "passes_to_dump", "run_passes"]


@dataclass(frozen=True)
class Pass:
    """One step of the compiler."""

    name: str
    level: Level
    """That of what it gives."""
    run: Callable[[State, CompileOptions], State]
    stage: str
    """What users are told while it runs."""

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (self.run.__doc__ or self.name).strip()


PASSES: tuple[Pass, ...] = (
    Pass("import", Level.GRAPH, passes.import_model, "importing"),
    Pass("canonicalize", Level.GRAPH, passes.canonicalize, "importing"),
    Pass("select", Level.GRAPH, passes.select, "importing"),
    Pass("quantize", Level.GRAPH, passes.quantize, "quantising"),
    Pass("lower", Level.INTEGER, passes.lower, "quantising"),
    Pass("inline", Level.INTEGER, passes.inline, "compiling"),
    Pass("check_bounds", Level.INTEGER, passes.check_bounds, "compiling"),
    Pass("wrap_accumulators", Level.INTEGER, passes.wrap_accumulators, "compiling"),
    Pass("matrices_to_images", Level.INTEGER, passes.matrices_to_images, "compiling"),
    Pass("space_to_depth", Level.INTEGER, passes.space_to_depth, "compiling"),
    Pass("im2col", Level.INTEGER, passes.im2col, "compiling"),
    Pass("wide_weights", Level.INTEGER, passes.wide_weights, "compiling"),
    Pass("partition", Level.PARTITION, passes.partition, "compiling"),
    Pass("lower_to_tiles", Level.TILE, passes.lower_to_tiles, "compiling"),
    Pass("schedule", Level.TILE, passes.schedule, "compiling"),
    Pass("codegen", Level.ISA, passes.codegen, "compiling"),
    Pass("check_programs", Level.ISA, passes.check_programs, "compiling"),
    Pass("place", Level.ISA, passes.place, "compiling"),
)
"""In order. What `check_programs` leaves to the host is partitioned again without."""


def pass_named(name: str) -> Pass:
    """The pass called `name`. Raises `UsageError` naming those there are."""
    for step in PASSES:
        if step.name == name:
            return step
    raise UsageError(f"there is no pass {name}; there are {', '.join(step.name for step in PASSES)}")


def passes_between(first: str, last: str) -> tuple[Pass, ...]:
    """The passes from `first` to `last`, both included."""
    names = [step.name for step in PASSES]
    return PASSES[names.index(first) : names.index(last) + 1]


def passes_to_dump(wanted: Sequence[str]) -> frozenset[str]:
    """Passes by their names, by those of levels (the last pass of each), or ``all``. Raises `UsageError` naming a wrong one."""
    last = {str(step.level): step.name for step in PASSES}
    # What places operators changes no program.
    last[str(Level.ISA)] = "codegen"
    found: set[str] = set()
    for name in wanted:
        if name == "all":
            found.update(step.name for step in PASSES)
        elif name in last:
            found.add(last[name])
        elif any(step.name == name for step in PASSES):
            found.add(name)
        else:
            known = ", ".join(dict.fromkeys((*(step.name for step in PASSES), *last, "all")))
            raise UsageError(f"there is no pass or level {name}; there are {known}")
    return frozenset(found)


def run_passes(
    state: State,
    options: CompileOptions,
    steps: Sequence[Pass] = PASSES,
    *,
    first: str | None = None,
    progress: Callable[[str], None] | None = None,
    watch: Callable[[Pass, State], None] | None = None,
) -> State:
    """Run `steps` in order, from the one called `first` on where that is given, and return the last state.

    `progress` is told each new stage, `watch` each pass that is done and what it gave. A pass may ask to run again from an
    earlier one on, by `State.again`.
    """
    names = [step.name for step in steps]
    stage, position = "", 0 if first is None else names.index(first)
    while position < len(steps):
        step = steps[position]
        if progress is not None and step.stage != stage:
            progress(step.stage)
        stage = step.stage
        state = step.run(state, options)
        if watch is not None:
            watch(step, state)
        position += 1
        if state.again is not None:
            position, state = names.index(state.again), replace(state, again=None)
    return state


def dump(state: State, level: Level) -> str:
    """The text of what is compiled, at the level that it has reached."""
    if level in (Level.GRAPH, Level.INTEGER):
        return print_graph(state.graph)
    if level == Level.PARTITION:
        return print_graph(state.partitioned.graph)
    if level == Level.TILE:
        return tile_text([tile.region for tile in state.tiles], state.schedules, state.hw)
    return program_text((made.name, made.program) for made in state.programs if isinstance(made, RegionProgram))
