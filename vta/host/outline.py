"""What plans ask of a program, and its loops for whoever compiles it.

Most programs were lowered in an earlier process. What that said of them is kept, so that their loops are not made again: these
take longer than all else that is done for a kernel whose object file is known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from vta.files.cache import Arrays, code_digest, remembered
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Kernel
from vta.host.loop.compute_text import compute_key
from vta.host.loop.lower import lower
from vta.host.loop.nest import Program
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import Step
from vta.host.loop.text import program_text
from vta.support.dataclass import dataclass

__all__ = ["FunctionOutline", "ProgramOutline", "named_outline", "outline_of_kernel"]

_CODE = sorted((Path(__file__).parent / "loop").glob("*.py"))
"""What decides which program a kernel becomes."""


@dataclass(frozen=True)
class FunctionOutline:
    """What a plan asks of `vta.host.loop.nest.Function`."""

    name: str
    shared_extent: int


@dataclass(frozen=True)
class ProgramOutline:
    """What a plan asks of `vta.host.loop.nest.Program`."""

    name: str
    """Programs with the same loops have the same one."""
    output: Buffer
    workspace: tuple[Buffer, ...]
    functions: tuple[FunctionOutline, ...]
    lowered: Callable[[], Program]
    """Gives the program itself."""

    def symbol(self, function: FunctionOutline) -> str:
        """Name of the compiled function of a stage."""
        return f"{self.name}.{function.name}"


def _named(program: Program) -> Program:
    return replace(program, name=f"kernel_{hashlib.sha256(program_text(program).encode()).hexdigest()[:16]}")


def named_outline(program: Program) -> ProgramOutline:
    """The outline of a program, which gets the name that its loops have."""
    named = _named(program)
    functions = tuple(FunctionOutline(function.name, function.shared_extent) for function in named.functions)
    return ProgramOutline(named.name, named.output, named.workspace, functions, lambda: named)


def _step_text(step: Step) -> str:
    """What tells steps apart; a `repr` is made for each of their classes when it is first asked for, which takes a while."""
    return f"{type(step).__name__} {vars(step)}"


def outline_of_kernel(kernel: Kernel, steps: Sequence[Step], known: dict[bytes, ProgramOutline]) -> ProgramOutline:
    """The outline of what a kernel becomes in some steps, kept from one process to the next.

    Kernels that compute the same in the same steps are looked for once: they are in `known` from then on.
    """
    key = "\n".join((compute_key(kernel), *map(_step_text, steps))).encode()
    found = known.get(key)
    if found is None:
        found = known[key] = _kept_outline(kernel, steps, key + code_digest(*_CODE))
    # Each kernel has buffers of its own.
    outputs = {stage.name: stage.output for stage in kernel.stages}
    workspace = tuple(outputs[item.name] for item in found.functions if outputs[item.name] is not kernel.output)
    return replace(found, output=kernel.output, workspace=workspace)


def _kept_outline(kernel: Kernel, steps: Sequence[Step], key: bytes) -> ProgramOutline:
    made: list[ProgramOutline] = []

    def make() -> Arrays:
        made.append(named_outline(lower(scheduled(kernel, steps))))
        rows = [(function.name, function.shared_extent) for function in made[0].functions]
        return {"outline": np.frombuffer(json.dumps([made[0].name, rows]).encode(), np.uint8)}

    kept = remembered("host-programs", key, make)
    if made:
        return made[0]
    name, rows = json.loads(kept["outline"].tobytes())
    functions = tuple(FunctionOutline(stage, extent) for stage, extent in rows)
    return ProgramOutline(name, kernel.output, (), functions, cache(lambda: _named(lower(scheduled(kernel, steps)))))
