"""The functions of a program of loop nests as a module of LLVM IR."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from llvmlite import ir

from vta.host.llvm.emit import Emitter
from vta.host.llvm.scalars import memory_type
from vta.host.loop.buffer import Buffer
from vta.host.loop.nest import Function, Program, buffers_of
from vta.host.processors import CpuTarget

__all__ = ["ARGUMENTS", "llvm_module"]

ARGUMENTS = (
    "an array of pointers (inputs, workspace, output), then the range of the outermost loop that is to run: its start and its end"
)

_INDEX = ir.IntType(64)
_POINTER = ir.PointerType()
_ALIGNMENT = 64


def llvm_module(program: Program, target: CpuTarget) -> ir.Module:
    """Return a module with one function for each of the program's; each takes `ARGUMENTS`."""
    module = ir.Module(name=program.name)
    module.triple = target.triple
    buffers = (*program.inputs, *program.workspace, program.output)
    for function in program.functions:
        used = buffers_of(function.body)
        places = [place for place, buffer in enumerate(buffers) if buffer in used]
        body = _body_function(module, program, function, [buffers[place] for place in places], target)
        _entry(module, program.symbol(function), body, places)
    return module


def _body_function(
    module: ir.Module, program: Program, function: Function, buffers: Sequence[Buffer], target: CpuTarget
) -> ir.Function:
    """The nest, over pointers that do not overlap."""
    kind = ir.FunctionType(ir.VoidType(), [*(_POINTER for _ in buffers), _INDEX, _INDEX])
    made = ir.Function(module, kind, f"{program.symbol(function)}.nest")
    made.linkage = "internal"
    for attribute in ("nounwind", "alwaysinline"):
        made.attributes.add(attribute)
    for argument in made.args[: len(buffers)]:
        argument.add_attribute("noalias")
    builder = ir.IRBuilder(made.append_basic_block("entry"))
    memory = dict(zip(buffers, made.args, strict=False))
    for buffer in function.local:
        place = builder.alloca(ir.ArrayType(memory_type(buffer.dtype), max(1, buffer.nbytes // np.dtype(buffer.dtype).itemsize)))
        place.align = _ALIGNMENT
        place.type = _POINTER  # an opaque pointer, as all others are
        memory[buffer] = place
    emitter = Emitter(builder, target, memory, made.args[-2], made.args[-1])
    emitter.statement(function.body)
    emitter.builder.ret_void()
    return made


def _entry(module: ir.Module, name: str, body: ir.Function, places: Sequence[int]) -> None:
    """The function that others call: takes the pointers at some places out of their array."""
    made = ir.Function(module, ir.FunctionType(ir.VoidType(), [_POINTER, _INDEX, _INDEX]), name)
    builder = ir.IRBuilder(made.append_basic_block("entry"))
    pointers = []
    for position in places:
        place = builder.gep(made.args[0], [ir.Constant(_INDEX, position)], source_etype=_POINTER)
        pointers.append(builder.load(place, typ=_POINTER))
    builder.call(body, [*pointers, made.args[1], made.args[2]])
    builder.ret_void()
