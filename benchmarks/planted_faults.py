"""Faults that are planted in passes of the compiler and in engines, and whether `vta diff` names what they were planted in.

    python -m benchmarks.planted_faults --models DIR [--count N] [--json]

A fault in a pass changes what the pass gives: a constant of the graph, the weights of an operator on tiles, some bytes or an
instruction of a program. The network is compiled with it, and compared with LiteRT's run of the file. A fault in an engine lets
one instruction do something else; the run is compared with the reference. A fault that changes no value of the run is not
counted, and another one is planted in its place.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import RegionProgram
from vta.compiler import pipeline
from vta.compiler.compile import compile_model
from vta.compiler.options import CompileOptions
from vta.compiler.pipeline import PASSES, Pass
from vta.compiler.state import State
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.devices.device import DEFAULT_OPTIONS, RunOptions, RunResult
from vta.devices.sim import SimDevice
from vta.difference.difference import Difference
from vta.difference.find import find_difference
from vta.difference.sides import FrameworkSide, ModuleSide
from vta.errors import VTAError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, constant, rewrite
from vta.isa.encoding import decode, encode
from vta.isa.instruction import AluOp, Opcode
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.evaluation.random_inputs import any_value, random_inputs
from vta.tile.gemm_operator import GemmOperator
from vta.tile.region_lowering import TileRegion

__all__ = ["ENGINE_FAULTS", "ENGINES", "Planted", "engine_faults", "pass_faults"]

NETWORK = "mlperf_tiny/kws_ref_model.tflite"
_TILES = ("lower_to_tiles", "schedule")
_PROGRAMS = ("codegen", "check_programs")
_PLACE = "place"
_OPTIONS = CompileOptions(least_gain=0)


@dataclass(frozen=True)
class Planted:
    """One fault, and what became of it."""

    where: str
    """The pass, or the engine and what it does wrong."""
    wanted: str
    named: str
    seconds: float
    """Of finding it, the two runs included."""

    @property
    def right(self) -> bool:
        """Whether what was named is what was planted."""
        return self.wanted == self.named


class MisreadingSim(SimDevice):
    """A simulator that lets one instruction of a program do something else."""

    change: Callable[[np.void], None]
    index = -1
    opcodes: NDArray[np.int64]

    def run(self, stream: NDArray[np.uint8], options: RunOptions = DEFAULT_OPTIONS) -> RunResult:
        """See `Device.run`."""
        return super().run(_misread(self, stream), options)


class MisreadingCycle(CycleDevice):
    """The cycle engine, likewise."""

    change: Callable[[np.void], None]
    index = -1
    opcodes: NDArray[np.int64]

    def run(self, stream: NDArray[np.uint8], options: RunOptions = DEFAULT_OPTIONS) -> RunResult:
        """See `Device.run`."""
        return super().run(_misread(self, stream), options)


def _misread(device: MisreadingSim | MisreadingCycle, stream: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What the device makes of a stream."""
    if len(stream) != len(device.opcodes):
        return stream
    before = stream[device.index : device.index + 1]
    rows = decode(before, device.hw)
    if rows["opcode"][0] != device.opcodes[device.index]:
        return stream
    device.change(rows[0])
    changed = stream.copy()
    changed[device.index] = encode(rows, device.hw)[0]
    return changed


ENGINES: dict[str, type[MisreadingSim] | type[MisreadingCycle]] = {"sim": MisreadingSim, "cycle": MisreadingCycle}


def _is(opcode: Opcode, **fields: int) -> Callable[[NDArray[np.void]], NDArray[np.bool_]]:
    def chosen(rows: NDArray[np.void]) -> NDArray[np.bool_]:
        found = rows["opcode"] == opcode
        for name, value in fields.items():
            found &= rows[name] == value
        return np.asarray(found)

    return chosen


def _plus(name: str, more: int) -> Callable[[np.void], None]:
    def change(row: np.void) -> None:
        row[name] += more

    return change


def _set(name: str, value: int) -> Callable[[np.void], None]:
    def change(row: np.void) -> None:
        row[name] = value

    return change


ENGINE_FAULTS: dict[str, tuple[Callable[[NDArray[np.void]], NDArray[np.bool_]], Callable[[np.void], None]]] = {
    "shifts too far": (_is(Opcode.ALU, alu_opcode=AluOp.SHR, use_imm=1), _plus("imm", 1)),
    "clips too high": (_is(Opcode.ALU, alu_opcode=AluOp.MIN, use_imm=1), _plus("imm", -64)),
    "takes the minimum for the maximum": (_is(Opcode.ALU, alu_opcode=AluOp.MAX), _set("alu_opcode", AluOp.MIN)),
    "adds where it multiplies": (_is(Opcode.ALU, alu_opcode=AluOp.MUL), _set("alu_opcode", AluOp.ADD)),
    "leaves out the last row of products": (_is(Opcode.GEMM, reset=0), _plus("iter_in", -1)),
    "reads the next row of inputs": (_is(Opcode.GEMM, reset=0), _plus("src_factor_in", 1)),
    "loads inputs from the next place": (_is(Opcode.LOAD, memory_type=2), _plus("dram_base", 1)),
    "loads weights from the next place": (_is(Opcode.LOAD, memory_type=1), _plus("dram_base", 1)),
    "loads constants from the next place": (_is(Opcode.LOAD, memory_type=3), _plus("dram_base", 1)),
    "loads other micro-ops": (_is(Opcode.LOAD, memory_type=0), _plus("dram_base", 1)),
    "stores a row too few": (_is(Opcode.STORE), _plus("x_size", -1)),
    "stores from the next row": (_is(Opcode.STORE), _plus("sram_base", 1)),
}
"""By what the engine does wrong: which instructions can be hit, and what is done to one."""


def engine_faults(module: CompiledModule, inputs: Mapping[str, NDArray[Any]], rng: np.random.Generator) -> Iterator[Planted]:
    """Plant faults in engines without end, one kind after the other."""
    (region,) = module.regions
    rows = region.program.instructions
    while True:
        for what, (chosen, change) in ENGINE_FAULTS.items():
            for kind, engine in ENGINES.items():
                candidates = np.flatnonzero(chosen(rows))
                if not len(candidates):
                    continue
                device = engine(module.hw, memory_bytes=1 << 26)
                device.change, device.index, device.opcodes = change, int(rng.choice(candidates)), rows["opcode"]
                started = time.perf_counter()
                try:
                    found = find_difference(ModuleSide("reference", module), ModuleSide(kind, module, device), inputs, _OPTIONS)
                except VTAError:
                    continue
                if found.first is not None:
                    seconds = time.perf_counter() - started
                    yield Planted(f"{kind} {what}", f"instruction {device.index}", _named(found), seconds)


def pass_faults(
    model: Path, hw: HardwareConfig, inputs: Mapping[str, NDArray[Any]], rng: np.random.Generator
) -> Iterator[Planted]:
    """Plant faults in passes without end, one pass after the other."""
    while True:
        for step in PASSES:
            with faulty_pass(step.name, int(rng.integers(1 << 30))):
                started = time.perf_counter()
                try:
                    module = compile_model(model, hw, options=_OPTIONS)
                    found = find_difference(
                        ModuleSide("compiled", module, SimDevice(hw, 1 << 26)), FrameworkSide("LiteRT", model), inputs, _OPTIONS
                    )
                except VTAError:
                    continue
            if found.first is not None:
                yield Planted(step.name, f"pass {step.name}", _named(found), time.perf_counter() - started)


def _named(found: Difference) -> str:
    cause = None if found.first is None else found.first.made_by
    if cause is None:
        return ""
    return f"instruction {cause.index}" if cause.kind == "instruction" else f"{cause.kind} {cause.name}"


@contextlib.contextmanager
def faulty_pass(name: str, seed: int) -> Iterator[None]:
    """Compile with a fault in the pass called `name` while the block runs."""
    steps = tuple(replace(step, run=_faulty(step, seed)) if step.name == name else step for step in PASSES)
    pipeline.PASSES, kept = steps, pipeline.PASSES
    compile_passes = sys.modules["vta.compiler.compile"]
    compile_passes.PASSES = steps  # type: ignore[attr-defined]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        pipeline.PASSES = kept
        compile_passes.PASSES = kept  # type: ignore[attr-defined]


def _faulty(step: Pass, seed: int) -> Callable[[State, CompileOptions], State]:
    def run(state: State, options: CompileOptions) -> State:
        rng = np.random.default_rng(seed)
        if step.name == "partition":
            # What finds the regions looks at another graph than it is given.
            return step.run(replace(state, imported=with_fault(state.graph, rng), lowering=None), options)
        made = step.run(state, options)
        if step.name in _TILES:
            return replace(made, tiles=tuple(_faulty_tiles(tile, rng) for tile in made.tiles))
        if step.name in _PROGRAMS:
            return replace(made, programs=tuple(_faulty_program(program, rng) for program in made.programs))
        if step.name == _PLACE and made.module is not None:
            regions = tuple(_faulty_program(region, rng) for region in made.module.regions)
            return replace(made, module=replace(made.module, regions=regions))
        return replace(made, imported=with_fault(made.graph, rng))

    return run


def with_fault(graph: Graph, rng: np.random.Generator) -> Graph:
    """The graph with one constant of weights turned around."""
    weights = [node for node in graph.nodes() if node.op == ops.CONSTANT and node.value is not None and node.value.ndim > 1]
    wanted = weights[int(rng.integers(len(weights)))]

    def change(node: Node) -> Node:
        if node is not wanted or node.value is None:
            return node
        return constant(np.ascontiguousarray(node.value[..., ::-1][::-1]), node.name)

    return rewrite(graph, change)


def _faulty_tiles(tile: TileRegion, rng: np.random.Generator) -> TileRegion:
    operators = list(tile.region.operators)
    choices = [index for index, operator in enumerate(operators) if isinstance(operator, GemmOperator)]
    index = int(rng.choice(choices))
    operator = operators[index]
    assert isinstance(operator, GemmOperator)
    digit = operator.digits[0]
    term = replace(digit.terms[0], weights=np.ascontiguousarray(np.roll(digit.terms[0].weights, 1, axis=-2)))
    operators[index] = replace(operator, digits=(replace(digit, terms=(term, *digit.terms[1:])), *operator.digits[1:]))
    return replace(tile, region=replace(tile.region, operators=tuple(operators)))


def _faulty_program(region: Any, rng: np.random.Generator) -> Any:
    """Change a constant, or an immediate of the ALU."""
    if not isinstance(region, RegionProgram):
        return region
    program = region.program
    if rng.integers(2):
        image = program.image.copy()
        first = int(rng.integers(image.size // 2, image.size - 256))
        image[first : first + 256] ^= 0x55
        return replace(region, program=replace(program, image=image))
    rows = program.instructions.copy()
    chosen = np.flatnonzero((rows["opcode"] == Opcode.ALU) & (rows["use_imm"] != 0) & (rows["alu_opcode"] == AluOp.SHR))
    rows["imm"][rng.choice(chosen)] += 2
    return replace(region, program=replace(program, instructions=rows))


def measure(model: Path, config: str, count: int) -> list[Planted]:
    """Plant `count` faults in passes, and as many in engines."""
    hw = HardwareConfig.named(config)
    module = compile_model(model, hw, options=_OPTIONS)
    inputs = random_inputs(module.graph, 0, any_value)
    rng = np.random.default_rng(0)
    found: list[Planted] = []
    for planted in (pass_faults(model, hw, inputs, rng), engine_faults(module, inputs, rng)):
        found += [fault for fault, _ in zip(planted, range(count), strict=False)]
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="where the model files are")
    parser.add_argument("--config", default="cycle", help="hardware config (default: %(default)s)")
    parser.add_argument("--count", type=int, default=100, help="faults in passes, and in engines (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    found = measure(options.models / NETWORK, options.config, options.count)
    right = sum(fault.right for fault in found)
    if options.json:
        print(json.dumps({"planted": len(found), "right": right, "faults": [asdict(fault) for fault in found]}))
        return 0 if right == len(found) else 1
    for fault in found:
        if not fault.right:
            print(f"{fault.where}: planted in {fault.wanted}, named {fault.named or 'nothing'}")
    seconds = sorted(fault.seconds for fault in found)
    print(f"{right} of {len(found)} named rightly; {seconds[len(seconds) // 2]:.2f} s each (median), {seconds[-1]:.2f} s at most")
    return 0 if right == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
