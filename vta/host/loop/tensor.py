"""Products of small matrices of bytes that 32 threads compute together: what such a nest is, and whether it is one.

Each thread has two rows and two columns of results and could sum them up alone; that is what the nest says, and how it is
interpreted. A device with matrix instructions computes the same for all 32 threads in one go: 16 rows, as the threads are 8
along y, times 8 columns, as they are 4 along x, over 32 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from vta.host.loop.affine import Affine, affine_of
from vta.host.loop.errors import LoopError
from vta.host.loop.expression import Binary, Cast, Expr, Load, Var, loads, walk
from vta.host.loop.nest import Barrier, Block, Function, If, Let, Loop, Statement, Store
from vta.support.dataclass import dataclass

__all__ = ["Lanes", "TensorProduct", "check_tensors", "linear_position", "tensor_product"]

_EXTENTS = (2, 2, 8, 4)
_ROWS, _COLUMNS = 8, 4
"""Threads along y, or a multiple of them, and along x."""


@dataclass(frozen=True)
class Lanes:
    """What is known of the threads around a nest."""

    row: str = ""
    """The loop bound to ``threadIdx.y``."""
    column: str = ""
    """That bound to ``threadIdx.x``."""
    extents: Mapping[str, int] | None = None
    """Of both."""
    differing: frozenset[str] = frozenset()
    """Names whose values differ between the 32 threads in another way."""
    tested: bool = False
    """Whether a test may keep some of the threads away."""

    def inside(self, loop: Loop) -> Lanes:
        """Inside a loop."""
        extents = {**(self.extents or {}), loop.variable: loop.extent}
        if loop.thread == "threadIdx.y":
            return replace(self, row=loop.variable, extents=extents)
        if loop.thread == "threadIdx.x":
            return replace(self, column=loop.variable, extents=extents)
        return self

    def naming(self, let: Let) -> Lanes:
        """Inside the body of a name."""
        lanes = {self.row, self.column, *self.differing}
        differs = any(isinstance(node, Var) and node.name in lanes for node in walk(let.value))
        return replace(self, differing=self.differing | {let.variable}) if differs else self


@dataclass(frozen=True)
class TensorProduct:
    """The nest of a product, taken apart."""

    target: Store
    rows: Load
    """The operand that the threads along x have in common."""
    columns: Load
    row: str
    column: str
    word: str
    byte: str
    """The variables of the four loops."""


def tensor_product(loop: Loop, lanes: Lanes) -> TensorProduct:
    """The product that a nest is; raises `LoopError` saying why it is none."""
    loops, body = [loop], loop.body
    while isinstance(body, Loop) and body.kind == "tensor":
        loops.append(body)
        body = body.body
    extents = tuple(item.extent for item in loops)
    if extents != _EXTENTS or not isinstance(body, Store):
        raise LoopError(f"{loop.variable}: matrices have 2 x 2 results of a thread over 8 x 4 bytes, not {extents}")
    names = row, column, word, byte = tuple(item.variable for item in loops)
    _check_lanes(loop, lanes)
    operands = _operands(body)
    if body.accumulate != "add" or body.buffer.dtype != "int32" or operands is None:
        raise LoopError(f"{loop.variable}: matrices are of int8, and their products are added up in int32")
    one, two = operands
    if row in _variables(two) or column in _variables(one):
        one, two = two, one
    for operand, own, other in ((one, (row, lanes.row), (column, lanes.column)), (two, (column, lanes.column), (row, lanes.row))):
        _check_operand(operand, own, other, names, lanes)
    return TensorProduct(body, one, two, row, column, word, byte)


def _check_lanes(loop: Loop, lanes: Lanes) -> None:
    extents = lanes.extents or {}
    if extents.get(lanes.column) != _COLUMNS or extents.get(lanes.row, 0) % _ROWS or not lanes.row:
        raise LoopError(f"{loop.variable}: matrices want {_COLUMNS} threads along x, and a multiple of {_ROWS} along y")
    if lanes.tested:
        raise LoopError(f"{loop.variable}: a test may keep some of the threads away that multiply matrices together")


def _check_operand(operand: Load, own: tuple[str, str], other: tuple[str, str], names: tuple[str, ...], lanes: Lanes) -> None:
    used = _variables(operand)
    if wrong := (used & {*other, *lanes.differing}):
        raise LoopError(
            f"{operand.buffer.name}: {', '.join(sorted(wrong))} differ between threads that have this operand together"
        )
    byte = names[-1]
    factors = linear_position(operand).factors
    others = [linear_position(operand).constant, *(factor for name, factor in factors.items() if name != byte)]
    if factors.get(byte) != 1 or any(part % _COLUMNS for part in others):
        raise LoopError(f"{operand.buffer.name}: the bytes of a word do not lie beside each other, from a multiple of four on")
    if not used >= {*own, names[2]}:
        raise LoopError(f"{operand.buffer.name}: {', '.join((*own, names[2]))} do not all count")


def linear_position(operand: Load) -> Affine:
    """Where an element lies, as a sum of variables; raises `LoopError` where it is none."""
    total = Affine()
    for position, stride in zip(operand.indices, operand.buffer.strides, strict=True):
        part = affine_of(position)
        if part is None:
            raise LoopError(f"{operand.buffer.name}: {position} is no sum of loops")
        total = total.plus(part, stride)
    return total


def _operands(store: Store) -> tuple[Load, Load] | None:
    match store.value:
        case Binary("mul", Cast(Load() as left, "int32"), Cast(Load() as right, "int32")):
            return (left, right) if left.buffer.dtype == right.buffer.dtype == "int8" else None
        case _:
            return None


def _variables(operand: Expr) -> set[str]:
    return {node.name for node in walk(operand) if isinstance(node, Var)}


def check_tensors(function: Function) -> None:
    """Raise `LoopError` for a nest of matrices that 32 threads cannot compute together."""
    for product in _products(function.body, Lanes()):
        if product.target.buffer not in function.local:
            raise LoopError(f"{product.target.buffer.name}: products of matrices are added up in registers")
        if any(item.buffer in function.local for item in loads(product.target.value)):
            raise LoopError(f"{function.name}: what one thread has for itself is no operand of all")


def _products(statement: Statement, lanes: Lanes) -> Iterator[TensorProduct]:
    match statement:
        case Loop(kind="tensor"):
            yield tensor_product(statement, lanes)
        case Loop(body=body):
            yield from _products(body, lanes.inside(statement))
        case Let(body=body):
            yield from _products(body, lanes.naming(statement))
        case If(body=body):
            yield from _products(body, replace(lanes, tested=True))
        case Block(statements):
            for item in statements:
                yield from _products(item, lanes)
        case Store() | Barrier():
            return
