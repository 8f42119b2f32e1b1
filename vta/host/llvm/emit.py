"""Writes the statements of a loop nest as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import reduce
from typing import Any

import numpy as np
from llvmlite import ir

from vta.host.llvm.dot import by_fours, dot_product
from vta.host.llvm.scalars import binary_value, cast_value, fused_product, llvm_type, memory_type, unary_value
from vta.host.llvm.vectors import masked_load, transposed_vectors
from vta.host.loop.affine import Affine, affine_of, flat_position, step_along
from vta.host.loop.buffer import Buffer
from vta.host.loop.errors import LoopError
from vta.host.loop.expression import Binary, Cast, Const, Expr, Load, Select, Unary, Var, loads, walk
from vta.host.loop.nest import Barrier, Block, If, Let, Loop, Statement, Store, with_values
from vta.host.processors import CpuTarget
from vta.support.dataclass import dataclass

__all__ = ["Emitter"]

_INDEX = ir.IntType(64)
_DOT_TYPES = ("uint8", "int8")
_EVERY_SECOND, _HALVED = 2, ("float32", "int8", "uint8")
"""How far apart lanes are that are picked out of two vectors, and types that there are instructions for."""
_SUMS = ("contract", "reassoc")
"""Sums of floats may be fused and reordered; all else is as NumPy computes it."""


def _alignment(kind: Any) -> int:
    """Bytes that a value's items are aligned to."""
    item = kind.element if isinstance(kind, ir.VectorType) else kind
    return item.width // 8 if isinstance(item, ir.IntType) else {"half": 2, "float": 4, "double": 8}[str(item)]


def _width(dtype: str) -> int:
    return np.dtype(dtype).itemsize


@dataclass
class _Lane:
    """The loop that runs as vectors, if one does."""

    variable: str
    count: int


@dataclass
class Emitter:
    """Writes statements at the builder's position."""

    builder: ir.IRBuilder
    target: CpuTarget
    memory: dict[Buffer, Any]
    begin: Any
    end: Any
    """Range of a parallel outermost loop."""
    names: dict[str, Any] = field(default_factory=dict)
    """Value of each variable: an int where it is known."""
    lane: _Lane | None = None
    mask: Any = None
    """The lanes that may be loaded, where these are not all."""
    block: Any = None
    made: dict[Hashable, Any] = field(default_factory=dict)
    """Values that are known to the end of `block`."""
    values: dict[int, tuple[Expr, Any]] = field(default_factory=dict)
    """Values of expressions that the present statement has computed, by identity."""

    def statement(self, statement: Statement) -> None:
        """Write one statement."""
        self.values = {}
        match statement:
            case Store():
                self.store(statement)
            case Loop():
                self.loop(statement)
            case Let(variable, value, body) if self.depends(value):
                # Where lanes lie in memory is seen from the variable of the lanes alone.
                self.statement(with_values(body, {variable: value}))
            case Let(variable, value, body):
                with self.named(variable, self.value(value)):
                    self.statement(body)
            case If(condition, body):
                with self.builder.if_then(self.value(condition)):
                    self.statement(body)
            case Barrier():
                raise LoopError("a processor has no threads that wait for each other")
            case Block(statements):
                for item in statements:
                    self.statement(item)

    @contextmanager
    def named(self, variable: str, value: Any) -> Iterator[None]:
        """A variable with a value, for the time being."""
        before = self.names.get(variable)
        self.names[variable] = value
        yield
        self.names[variable] = before

    def loop(self, loop: Loop) -> None:
        """Write a loop, in the way of its kind."""
        if loop.kind == "unrolled":
            for at in range(loop.extent):
                with self.named(loop.variable, at):
                    self.statement(loop.body)
        elif loop.kind == "vectorized":
            self.lane = _Lane(loop.variable, loop.extent)
            self.statement(loop.body)
            self.lane = None
        elif loop.kind == "transposed":
            self.transposed(loop)
        elif loop.kind == "parallel":
            self.counted(loop, self.begin, self.end)
        elif loop.kind == "serial" or (loop.kind == "dot" and self.lane is None):
            # Where one lane alone is wanted, as of one channel, there is no vector that a dot product could be of.
            self.counted(loop, ir.Constant(_INDEX, 0), self.last(loop))
        elif loop.kind == "dot":
            self.dot(loop)
        else:
            raise LoopError(f"loop {loop.variable}: a processor has no {loop.thread or loop.kind} to bind it to")

    def last(self, loop: Loop) -> Any:
        """What a loop counts up to."""
        last = ir.Constant(_INDEX, loop.extent)
        if loop.limit is None:
            return last
        limit = self.value(loop.limit)
        return self.builder.select(self.builder.icmp_signed("<", limit, last), limit, last)

    def counted(self, loop: Loop, first: Any, last: Any) -> None:
        """A loop that counts. Its body runs at least once where the bounds are constants."""
        builder = self.builder
        before = builder.block
        head, body, after = (builder.append_basic_block(name) for name in ("head", "body", "after"))
        builder.branch(head)
        builder.position_at_end(head)
        counter = builder.phi(_INDEX)
        counter.add_incoming(first, before)
        builder.cbranch(builder.icmp_signed("<", counter, last), body, after)
        builder.position_at_end(body)
        with self.named(loop.variable, counter):
            self.statement(loop.body)
        counter.add_incoming(builder.add(counter, ir.Constant(_INDEX, 1)), builder.block)
        builder.branch(head)
        builder.position_at_end(after)

    def transposed(self, loop: Loop) -> None:
        """Vectors along one loop, stored as vectors along the vectorized loop in it."""
        inner = loop.body
        if not isinstance(inner, Loop):  # a rest of one: nothing to turn
            self.loop(replace(loop, kind="vectorized"))
            return
        store = inner.body
        assert isinstance(store, Store)
        self.lane = _Lane(loop.variable, loop.extent)
        rows = []
        for at in range(inner.extent):
            self.values = {}
            with self.named(inner.variable, at):
                rows.append(self.spread(self.value(store.value), store.buffer.dtype))
        self.lane = _Lane(inner.variable, inner.extent)
        for at, column in enumerate(transposed_vectors(self.builder, rows)):
            with self.named(loop.variable, at):
                self.write_lanes(store, column)
        self.lane = None

    def store(self, store: Store) -> None:
        """Write an element, or as many as the lanes are."""
        value = (
            self.accumulated(store) if store.accumulate is not None else self.spread(self.value(store.value), store.buffer.dtype)
        )
        self.write_lanes(store, value)

    def write_lanes(self, store: Store, value: Any) -> None:
        """Put a value, or those of the lanes, where a store says."""
        position = self.position(store.buffer, store.indices)
        factor = self.lane_factor(position)
        if self.lane is None:
            self.write(self.place(store.buffer, position), value)
        elif factor == 1:
            self.write(self.place(store.buffer, position, lane=0), value)
        else:
            for at in range(self.lane.count):
                item = self.builder.extract_element(value, ir.Constant(ir.IntType(32), at))
                self.write(self.place(store.buffer, position, lane=at), item)

    def accumulated(self, store: Store) -> Any:
        """The old value with the new one added, or the smaller or larger of both. Products are fused with sums of floats."""
        assert store.accumulate is not None
        dtype = store.buffer.dtype
        old = self.spread(self.load(Load(store.buffer, store.indices)), dtype)
        if store.accumulate == "add" and dtype.startswith("float"):
            if isinstance(store.value, Binary) and store.value.operation == "mul":
                left, right = (self.spread(self.value(part), dtype) for part in (store.value.left, store.value.right))
                return fused_product(self.builder, left, right, old)
            return self.builder.fadd(old, self.spread(self.value(store.value), dtype), flags=_SUMS)
        return binary_value(self.builder, store.accumulate, old, self.spread(self.value(store.value), dtype), dtype)

    def dot(self, loop: Loop) -> None:
        """Four products of bytes for each lane, added to its sum."""
        assert self.lane is not None
        store = loop.body
        if not isinstance(store, Store) or store.accumulate != "add":
            raise LoopError(f"loop {loop.variable}: a dot product is added to a sum")
        operands = [node for node in walk(store.value) if isinstance(node, Load)]
        positions = [self.position(item.buffer, item.indices) for item in operands]
        steps = [(self.lane_factor(at), at.factors.get(loop.variable, 0)) for at in positions if isinstance(at, Affine)]
        lanes, byte = self.lane.count, ir.IntType(8)
        data_steps, weight_steps = steps if len(steps) == len(_DOT_TYPES) else ((None, 0), (None, 0))
        if (
            tuple(item.buffer.dtype for item in operands) != _DOT_TYPES
            or not (data_steps == (0, 1) or (data_steps[0] == 1 and data_steps[1] >= lanes))
            or weight_steps != (loop.extent, 1)
            or loop.extent != 4
        ):
            raise LoopError(
                f"loop {loop.variable}: a dot product takes four neighbours of a uint8 for all lanes, or four vectors of them, "
                "and four neighbours of an int8 for each lane"
            )
        with self.named(loop.variable, 0):
            places = [self.place(item.buffer, at, lane=0) for item, at in zip(operands, positions, strict=True)]
        if data_steps == (0, 1):
            data = self.spread(self.read(places[0], ir.IntType(32)), "int32")
        else:
            apart = data_steps[1]
            data = by_fours(self.builder, self.read(places[0], ir.VectorType(byte, 3 * apart + lanes)), lanes, apart)
        weights = self.read(places[1], ir.VectorType(byte, 4 * lanes))
        total = dot_product(self.builder, self.target, self.load(Load(store.buffer, store.indices)), data, weights)
        self.write(self.place(store.buffer, self.position(store.buffer, store.indices), lane=0), total)

    def value(self, expression: Expr) -> Any:
        """An expression's value: a scalar, or a vector of the lanes where it depends on them."""
        if isinstance(expression, Const):
            return ir.Constant(llvm_type(expression.dtype), expression.value)
        if isinstance(expression, Var):
            return self.variable(expression.name)
        if id(expression) not in self.values:
            # The expression itself is kept too, so that no other gets its identity.
            self.values[id(expression)] = expression, self.computed(expression)
        return self.values[id(expression)][1]

    def computed(self, expression: Load | Binary | Unary | Select | Cast) -> Any:
        """The value of what is not computed yet."""
        match expression:
            case Load():
                return self.load(expression)
            case Binary(operation, left, right):
                first, second = self.alike(self.value(left), self.value(right), left.dtype)
                return binary_value(self.builder, operation, first, second, left.dtype)
            case Unary(operation, operand):
                return unary_value(self.builder, operation, self.value(operand), operand.dtype, self.target)
            case Select(condition, then, otherwise):
                return self.select(condition, then, otherwise)
            case Cast(operand, dtype):
                return cast_value(self.builder, self.value(operand), operand.dtype, dtype)

    def select(self, condition: Expr, then: Expr, otherwise: Expr) -> Any:
        """One of two values.

        Where one of them loads and the choice is by position, a scalar choice branches; lanes load by a mask, or one after the
        other. A choice by values is one of two that are both computed.
        """
        loaded = bool(loads(then) or loads(otherwise)) and not loads(condition)
        if loaded and self.lane is not None and self.depends(condition):
            if self.can_mask(then) and not loads(otherwise):
                return self.masked(condition, then, otherwise)
            return self.by_lane(Select(condition, then, otherwise), then.dtype)
        chosen = self.value(condition)
        if isinstance(chosen, ir.Constant) and isinstance(chosen.constant, int):
            return self.value(then if chosen.constant else otherwise)
        if not loaded:
            first, second = self.alike(self.value(then), self.value(otherwise), then.dtype)
            if isinstance(chosen.type, ir.VectorType):
                first, second = (self.spread(part, then.dtype) for part in (first, second))
            return self.builder.select(chosen, first, second)
        values = []
        before = self.values
        with self.builder.if_else(chosen) as branches:
            for branch, part in zip(branches, (then, otherwise), strict=True):
                with branch:
                    self.values = dict(before)
                    value = self.value(part) if self.lane is None else self.spread(self.value(part), then.dtype)
                    values.append((value, self.builder.block))
        self.values = before
        joined = self.builder.phi(values[0][0].type)
        for value, block in values:
            joined.add_incoming(value, block)
        return joined

    def can_mask(self, expression: Expr) -> bool:
        """Whether all that an expression loads are whole vectors, one lane after the other in memory."""
        nodes = list(walk(expression))
        plain = not any(isinstance(node, Select) for node in nodes)
        return plain and all(self.lane_factor(self.position(node.buffer, node.indices)) == 1 for node in loads(expression))

    def masked(self, condition: Expr, then: Expr, otherwise: Expr) -> Any:
        """One of two values in each lane, of which the first is loaded where it is chosen only."""
        names = {node.name for node in walk(condition) if isinstance(node, Var)}
        values = tuple((name, self.names.get(name)) for name in sorted(names))
        mask = self.known((id(condition), values), lambda: self.spread(self.value(condition), "bool"))
        before, self.values = self.values, {}
        self.mask = mask
        first = self.spread(self.value(then), then.dtype)
        self.mask, self.values = None, before
        return self.builder.select(mask, first, self.spread(self.value(otherwise), then.dtype))

    def by_lane(self, expression: Expr, dtype: str) -> Any:
        """A vector made of scalars, one lane after the other."""
        assert self.lane is not None
        lane, self.lane = self.lane, None
        before = self.values
        result: Any = ir.Constant(ir.VectorType(llvm_type(dtype), lane.count), ir.Undefined)
        for at in range(lane.count):
            self.values = {}
            with self.named(lane.variable, at):
                value = self.value(expression)
            result = self.builder.insert_element(result, value, ir.Constant(ir.IntType(32), at))
        self.lane, self.values = lane, before
        return result

    def depends(self, expression: Expr) -> bool:
        """Whether an expression differs between lanes."""
        return self.lane is not None and any(node == Var(self.lane.variable) for node in walk(expression))

    def variable(self, name: str) -> Any:
        """A variable's value; the lanes' numbers where it is theirs."""
        if self.lane is not None and name == self.lane.variable:
            return ir.Constant(ir.VectorType(_INDEX, self.lane.count), list(range(self.lane.count)))
        value = self.names[name]
        return ir.Constant(_INDEX, value) if isinstance(value, int) else value

    def load(self, load: Load) -> Any:
        """An element, or a vector of those that the lanes read."""
        position = self.position(load.buffer, load.indices)
        factor = self.lane_factor(position)
        if self.lane is None or factor == 0:
            return self.loaded(load.buffer, self.place(load.buffer, position, lane=0))
        if factor == 1:
            return self.loaded(load.buffer, self.place(load.buffer, position, lane=0), self.lane.count)
        if factor == _EVERY_SECOND and self.mask is None and self.lane.count > 1 and load.dtype in _HALVED:
            return self.every_second(load.buffer, position)
        return self.by_lane(load, load.dtype)

    def every_second(self, buffer: Buffer, position: Affine | Expr) -> Any:
        """Every second element, out of two vectors that end where the last one of them is."""
        assert self.lane is not None
        count = self.lane.count
        halves = [self.loaded(buffer, self.place(buffer, position, lane=lane), count) for lane in (0, count // 2)]
        places = [2 * at if 2 * at < count else count + 2 * at - 2 * (count // 2) for at in range(count)]
        return self.builder.shuffle_vector(*halves, ir.Constant(ir.VectorType(ir.IntType(32), count), places))

    def loaded(self, buffer: Buffer, place: Any, count: int = 0) -> Any:
        """An element, or `count` neighbours, of which only those of the mask are read where there is one."""
        item = memory_type(buffer.dtype)
        if count and self.mask is not None:
            value = masked_load(self.builder, place, self.mask, ir.VectorType(item, count), _width(buffer.dtype))
        else:
            value = self.read(place, ir.VectorType(item, count) if count else item)
        if buffer.dtype != "bool":
            return value
        return self.builder.icmp_unsigned("!=", value, ir.Constant(value.type, [0] * count if count else 0))

    def position(self, buffer: Buffer, indices: Sequence[Expr]) -> Affine | Expr:
        """Elements from a buffer's start: a sum where it is one."""
        parts = [affine_of(item) for item in indices]
        total = Affine()
        for part, stride in zip(parts, buffer.strides, strict=True):
            if part is None:
                return flat_position(buffer, indices)
            total = total.plus(part, stride)
        return total

    def lane_factor(self, position: Affine | Expr) -> int | None:
        """How far apart lanes are in memory; None where they are not evenly spaced."""
        return 0 if self.lane is None else step_along(position, self.lane.variable)

    def place(self, buffer: Buffer, position: Affine | Expr, lane: int | None = None) -> Any:
        """Where an element is, or that of one of the lanes. What is known only then is added up once a block of code."""
        memory, item = self.memory[buffer], memory_type(buffer.dtype)
        if not isinstance(position, Affine):
            return self.builder.gep(memory, [self.at_lane(position, lane)], source_etype=item)
        constant, terms = position.constant, []
        for name, factor in position.factors.items():
            value = lane if self.lane is not None and name == self.lane.variable else self.names[name]
            if isinstance(value, int):
                constant += factor * value
            else:
                terms.append((value, factor))
        if terms:
            memory = self.known((buffer, *terms), lambda: self.builder.gep(memory, [self.total(terms)], source_etype=item))
        return self.builder.gep(memory, [ir.Constant(_INDEX, constant)], source_etype=item) if constant else memory

    def total(self, terms: Sequence[tuple[Any, int]]) -> Any:
        """The sum of values times numbers."""
        products = [value if factor == 1 else self.builder.mul(value, ir.Constant(_INDEX, factor)) for value, factor in terms]
        return reduce(self.builder.add, products)

    def known(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """A value that was made before in the same block of code, or is made now."""
        if self.block is not self.builder.block:
            self.block, self.made = self.builder.block, {}
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def at_lane(self, expression: Expr, lane: int | None) -> Any:
        """The value of an index in one lane."""
        if self.lane is None or lane is None:
            return self.value(expression)
        hidden, self.lane = self.lane, None
        before, self.values = self.values, {}
        with self.named(hidden.variable, lane):
            value = self.value(expression)
        self.lane, self.values = hidden, before
        return value

    def read(self, place: Any, kind: Any) -> Any:
        """Load a scalar or a vector."""
        return self.builder.load(place, align=_alignment(kind), typ=kind)

    def write(self, place: Any, value: Any) -> None:
        """Store a scalar or a vector."""
        if isinstance(value.type, ir.IntType) and value.type.width == 1:
            value = self.builder.zext(value, ir.IntType(8))
        elif isinstance(value.type, ir.VectorType) and value.type.element == ir.IntType(1):
            value = self.builder.zext(value, ir.VectorType(ir.IntType(8), value.type.count))
        self.builder.store(value, place, align=_alignment(value.type))

    def spread(self, value: Any, dtype: str) -> Any:
        """A vector with a scalar in each lane; vectors stay."""
        if self.lane is None or isinstance(value.type, ir.VectorType):
            return value
        kind = ir.VectorType(value.type, self.lane.count)
        first = self.builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.lane.count), None)
        return self.builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), zeros)

    def alike(self, left: Any, right: Any, dtype: str) -> tuple[Any, Any]:
        """Two scalars, or two vectors."""
        if isinstance(left.type, ir.VectorType) or isinstance(right.type, ir.VectorType):
            return self.spread(left, dtype), self.spread(right, dtype)
        return left, right
