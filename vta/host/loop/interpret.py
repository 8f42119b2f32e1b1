"""Runs kernels and loop nests one scalar at a time. Slow; what the code generators are tested against."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Kernel
from vta.host.loop.expression import Binary, Cast, Const, Expr, Load, Select, Unary, Var, map_expression, walk
from vta.host.loop.interpret_grid import run_grid, thread_name
from vta.host.loop.nest import Barrier, Block, If, Let, Loop, Program, Statement, Store

__all__ = ["evaluate_kernel", "is_zero_of_zeros", "run_program"]

Array = NDArray[Any]

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "floordiv": np.floor_divide, "mod": np.mod,
    "min": np.minimum, "max": np.maximum, "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "shl": np.left_shift, "shr": np.right_shift, "lt": np.less, "le": np.less_equal, "eq": np.equal,
}  # fmt: skip
_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1, "log": np.log, "tanh": np.tanh,
    "sin": np.sin, "cos": np.cos,
    "erf": lambda value: value.dtype.type(math.erf(value)), "floor": np.floor, "ceil": np.ceil, "round_even": np.rint,
    "trunc": np.trunc, "bits": lambda value: value.view(f"i{value.itemsize}"), "unbits": lambda value: value.view(np.float32),
}  # fmt: skip


def evaluate_kernel(kernel: Kernel, inputs: Sequence[Array]) -> Array:
    """The output of a kernel, computed in the plain order of its axes."""
    memory = _memory(kernel.inputs, inputs)
    for stage in kernel.stages:
        memory[stage.output] = np.empty(stage.output.shape, stage.output.dtype)
        for place in product(*(range(axis.extent) for axis in stage.axes)):
            names = {axis.name: np.int64(at) for axis, at in zip(stage.axes, place, strict=True)}
            if stage.initial is None:
                total = _value(stage.value, names, memory)
            else:
                total = _value(stage.initial, names, memory)
                for step in product(*(range(axis.extent) for axis in stage.reduce)):
                    inner = {**names, **{axis.name: np.int64(at) for axis, at in zip(stage.reduce, step, strict=True)}}
                    total = _combined(stage.combine or "add", total, _value(stage.value, inner, memory))
            memory[stage.output][place] = total
    return memory[kernel.output]


def is_zero_of_zeros(expression: Expr) -> bool:
    """Whether an expression is 0 where everything that it loads is 0; conditions must not depend on variables."""
    zeros = map_expression(expression, lambda node: Const(0, node.dtype) if isinstance(node, Load) else None)
    if any(isinstance(node, Var) for node in walk(zeros)):
        return False
    return bool(_value(zeros, {}, {}) == 0)


def run_program(program: Program, inputs: Sequence[Array]) -> Array:
    """The output of a program. Raises `IndexError` where a nest reads or writes outside a buffer."""
    memory = _memory(program.inputs, inputs)
    for buffer in (*program.workspace, program.output):
        memory[buffer] = np.zeros(buffer.shape, buffer.dtype)
    for function in program.functions:
        run_grid(function, memory, _run)
    return memory[program.output]


def _memory(buffers: Sequence[Buffer], arrays: Sequence[Array]) -> dict[Buffer, Array]:
    for buffer, array in zip(buffers, arrays, strict=True):
        assert (buffer.shape, buffer.dtype) == (array.shape, array.dtype.name), buffer.name
    return dict(zip(buffers, arrays, strict=True))


def _run(statement: Statement, names: Mapping[str, Any], memory: Mapping[Buffer, Array]) -> Iterator[None]:
    """Run one thread; gives way where it waits for the others."""
    match statement:
        case Store(buffer, indices, value, accumulate):
            place = _place(buffer, indices, names, memory)
            new = _value(value, names, memory)
            memory[buffer][place] = new if accumulate is None else _combined(accumulate, memory[buffer][place], new)
        case Loop(variable, extent, _, body, thread, limit):
            last = extent if limit is None else min(extent, int(_value(limit, names, memory)))
            for at in (names[thread_name(thread, variable)],) if thread else range(last):
                yield from _run(body, {**names, variable: np.int64(at)}, memory)
        case Let(variable, value, body):
            yield from _run(body, {**names, variable: _value(value, names, memory)}, memory)
        case If(condition, body):
            if _value(condition, names, memory):
                yield from _run(body, names, memory)
        case Barrier():
            yield
        case Block(statements):
            for item in statements:
                yield from _run(item, names, memory)


def _combined(how: str, left: Any, right: Any) -> Any:
    with np.errstate(all="ignore"):
        return _BINARY[how](left, right)


def _place(buffer: Buffer, indices: Sequence[Expr], names: Mapping[str, Any], memory: Mapping[Buffer, Array]) -> tuple[int, ...]:
    place = tuple(int(_value(item, names, memory)) for item in indices)
    if any(not 0 <= at < size for at, size in zip(place, buffer.shape, strict=True)):
        raise IndexError(f"{buffer.name}{list(place)} is outside {list(buffer.shape)}")
    return place


def _value(expression: Expr, names: Mapping[str, Any], memory: Mapping[Buffer, Array]) -> Any:
    known: dict[int, Any] = {}

    def of(node: Expr) -> Any:
        if id(node) not in known:
            known[id(node)] = computed(node)
        return known[id(node)]

    def computed(node: Expr) -> Any:
        match node:
            case Const(value, dtype):
                return np.dtype(dtype).type(value)
            case Var(name):
                return names[name]
            case Load(buffer, indices):
                return memory[buffer][_place(buffer, indices, names, memory)]
            case Binary(operation, left, right):
                return _combined(operation, of(left), of(right))
            case Unary(operation, operand):
                with np.errstate(all="ignore"):
                    return _UNARY[operation](of(operand))
            case Select(condition, then, otherwise):
                return of(then if of(condition) else otherwise)
            case Cast(operand, dtype):
                return of(operand).astype(dtype)

    return of(expression)
