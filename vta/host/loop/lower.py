"""From a scheduled kernel to loop nests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import reduce

from vta.host.loop.affine import Affine, affine_of, without_divisions
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage
from vta.host.loop.errors import LoopError
from vta.host.loop.expression import Binary, Const, Expr, Load, Var, binary, index, load, loads, map_expression, substitute, walk
from vta.host.loop.nest import Barrier, Block, Function, If, Let, Loop, LoopKind, Program, Statement, Store, is_thread
from vta.host.loop.schedule import LoopOrder, Scheduled, ancestors
from vta.host.loop.steps import Fuse, Split
from vta.host.loop.tensor import check_tensors
from vta.support.dataclass import dataclass

__all__ = ["lower"]


def lower(state: Scheduled) -> Program:
    """Return one function for each stage that is computed by itself, the stages attached to it inside."""
    kernel = state.kernel
    by_themselves = [stage for stage in kernel.stages if state.orders[stage.name].attached is None]
    functions = [_function(_Emitter(state), stage) for stage in by_themselves]
    workspace = tuple(stage.output for stage in by_themselves if stage.output is not kernel.output)
    return Program(kernel.name, kernel.inputs, kernel.output, workspace, tuple(functions))


def _function(emitter: _Emitter, stage: Stage) -> Function:
    whole = {axis.name: axis.extent for axis in (*stage.axes, *stage.reduce)}
    body = emitter.stage(stage, whole, dict.fromkeys(whole, Affine()), _Scope())
    small = {whole: Buffer(whole.name, shape, whole.dtype) for whole, shape in emitter.shapes.items()}
    orders = emitter.state.orders
    shared = tuple(buffer for buffer in small.values() if orders[buffer.name].shared)
    local = tuple(buffer for buffer in small.values() if not orders[buffer.name].shared)
    function = Function(stage.name, _replaced(body, small), local, shared)
    check_tensors(function)
    return function


@dataclass(frozen=True)
class _Scope:
    """What is known at one point of a nest."""

    values: Mapping[str, Expr] = field(default_factory=dict)
    """Of the loops and axes that have one."""
    origins: Mapping[Buffer, tuple[Affine, ...]] = field(default_factory=dict)
    """First index that the small buffer of an attached stage holds, for each dimension."""
    extents: Mapping[str, int] = field(default_factory=dict)
    """Of the variables of all loops around this point."""
    threads: Mapping[str, int] = field(default_factory=dict)
    """Extents of those that tell the threads of a block apart."""
    overruns: bool = False
    """Whether blocks of a split may reach beyond the tensors, so that tests skip what is too much."""

    def binding(self, name: str, value: Expr) -> _Scope:
        """The scope with a value more."""
        return replace(self, values={**self.values, name: value})

    def inside(self, variable: str, extent: int, thread: str = "") -> _Scope:
        """The scope inside a loop."""
        threads = {**self.threads, variable: extent} if is_thread(thread) else self.threads
        return replace(self, extents={**self.extents, variable: extent}, threads=threads)


@dataclass
class _Emitter:
    """Writes the nest of a stage and of those attached to it."""

    state: Scheduled
    shapes: dict[Buffer, tuple[int, ...]] = field(default_factory=dict)
    """Of the small buffers of attached stages, each large enough for every range that is computed into it."""

    def stage(self, stage: Stage, extents: Mapping[str, int], origin: Mapping[str, Affine], scope: _Scope) -> Statement:
        """The nest that computes a range of a stage: `extents` values of each axis from its origin on."""
        order = self.state.orders[stage.name]
        work = _Work(self, stage, order, extents, origin)
        guarded = any(isinstance(item, Split) and item.guard for item in order.relations)
        return work.emit(0, {}, replace(scope, overruns=scope.overruns or guarded))

    def place(self, stage: Stage, shape: Sequence[int]) -> None:
        """Make the small buffer of an attached stage at least as large as a range."""
        old = self.shapes.get(stage.output, tuple(1 for _ in shape))
        self.shapes[stage.output] = tuple(max(pair) for pair in zip(old, shape, strict=True))


_STARTING: dict[LoopKind, LoopKind] = {"dot": "serial", "tensor": "unrolled"}
"""How loops run while the start of a reduction is stored."""

_Body = Callable[[Mapping[str, int], _Scope], Statement]
"""What emits the rest of a nest: from the rests of splits and a scope."""


@dataclass(frozen=True)
class _Work:
    """The emission of one stage, over one range."""

    emitter: _Emitter
    stage: Stage
    order: LoopOrder
    extents: Mapping[str, int]
    origin: Mapping[str, Affine]

    def __post_init__(self) -> None:
        sizes = self.sizes({})
        for item in self.order.relations:
            if (
                isinstance(item, Split)
                and not item.guard
                and item.outer not in self.order.loops
                and sizes[item.loop] % item.factor
            ):
                raise LoopError(
                    f"{self.stage.name}: {item.outer} is split or fused, "
                    f"but blocks of {item.factor} leave a rest of {sizes[item.loop]}"
                )

    def sizes(self, rests: Mapping[str, int]) -> dict[str, int]:
        """Extent of every axis and loop, where the inner loops of some splits have only a rest to do."""
        sizes = dict(self.extents)
        for item in self.order.relations:
            if isinstance(item, Split):
                sizes[item.outer] = -(-sizes[item.loop] // item.factor) if item.guard else sizes[item.loop] // item.factor
                sizes[item.inner] = rests.get(item.inner, item.factor)
            else:
                sizes[item.name] = sizes[item.first] * sizes[item.second]
        return sizes

    def emit(self, at: int, rests: Mapping[str, int], scope: _Scope) -> Statement:
        """Loops from position `at` on. A reduction's start is stored before its first loop."""
        loops = self.order.loops
        if self.stage.reduce and (at == len(loops) or loops[at] in self.order.reduce):
            spatial = [loop for loop in loops[at:] if loop not in self.order.reduce]
            return _block([self.nest(group, rests, scope, group is spatial) for group in (spatial, loops[at:])])
        if at == len(loops):
            return self.store(rests, scope, starting=False)
        return self.loop(loops[at], rests, scope, lambda inner, place: self.emit(at + 1, inner, place))

    def nest(self, loops: Sequence[str], rests: Mapping[str, int], scope: _Scope, starting: bool) -> Statement:
        """Loops, of which the start of the reduction or its steps are the body."""
        if not loops:
            return self.store(rests, scope, starting)
        return self.loop(loops[0], rests, scope, lambda inner, place: self.nest(loops[1:], inner, place, starting), starting)

    def loop(self, name: str, rests: Mapping[str, int], scope: _Scope, body: _Body, starting: bool = False) -> Statement:
        """One loop, and the rest of the split whose blocks it counts."""
        extent = self.sizes(rests)[name]
        parts = []
        if extent == 1:
            parts.append(self.inside(name, rests, scope.binding(name, index(0)), body, starting))
        elif extent > 1:
            kind, thread = self.order.kind(name), self.order.threads.get(name, "")
            within = scope.inside(self.variable(name), extent, thread).binding(name, Var(self.variable(name)))
            inner = self.inside(name, rests, within, body, starting)
            parts.append(Loop(self.variable(name), extent, _STARTING.get(kind, kind) if starting else kind, inner, thread))
        splits = (item for item in self.order.relations if isinstance(item, Split) and not item.guard)
        split = next((item for item in splits if item.outer == name), None)
        if split is not None and (rest := self.sizes(rests)[split.loop] % split.factor):
            fewer = {**rests, split.inner: rest}
            parts.append(self.inside(name, fewer, scope.binding(name, index(extent)), body, starting))
        return _block(parts)

    def variable(self, loop: str) -> str:
        """A loop's variable; those of attached stages must not hide the reader's."""
        return f"{self.stage.name}.{loop}"

    def inside(self, loop: str, rests: Mapping[str, int], scope: _Scope, body: _Body, starting: bool) -> Statement:
        """The body of a loop: parts of a fused index, then what is computed in it, then what follows."""
        lets, scope = self.unfused(rests, scope)
        parts: list[Statement] = []
        producers = [] if starting else self.emitter.state.attached_to(self.stage.name, loop)
        for at, producer in enumerate(producers):
            if _reads_shared(self.emitter.state, producer, producers[:at]):
                parts.append(Barrier())
            nest, scope = self.attached(producer, rests, scope)
            parts.append(nest)
        if any(self.emitter.state.orders[producer.name].shared for producer in producers):
            parts = [Barrier(), *parts, Barrier()]
        statement = _block([*parts, body(rests, scope)])
        if not self.waits:
            statement = _tested(self.tests(rests, scope, loop), statement)
        for name, value in reversed(lets):
            statement = Let(name, value, statement)
        return statement

    def unfused(self, rests: Mapping[str, int], scope: _Scope) -> tuple[list[tuple[str, Expr]], _Scope]:
        """Names for the two parts of each fused loop whose index has become known."""
        lets = []
        while (item := self.next_fused(scope)) is not None:
            sizes = self.sizes(rests)
            size, whole = index(sizes[item.second]), self.loop_values(scope)[item.name]
            for name, value in ((item.first, binary("floordiv", whole, size)), (item.second, binary("mod", whole, size))):
                lets.append((self.variable(name), value))
                scope = scope.inside(self.variable(name), sizes[name]).binding(name, Var(self.variable(name)))
        return lets, scope

    def next_fused(self, scope: _Scope) -> Fuse | None:
        """A fused loop whose index is known, but not its parts."""
        known = set(scope.values)
        for item in reversed(self.order.relations):
            if isinstance(item, Split):
                known |= {item.loop} if {item.outer, item.inner} <= known else set()
            elif item.name in known and item.first not in known:
                return item
        return None

    def axis_values(self, scope: _Scope) -> dict[str, Expr]:
        """Each axis as an expression of loops; what is still to come stands for itself."""
        known = self.loop_values(scope)
        axes = (*self.stage.axes, *self.stage.reduce)
        return {axis.name: self.shifted(axis.name, known.get(axis.name, Var(self.variable(axis.name)))) for axis in axes}

    def loop_values(self, scope: _Scope) -> dict[str, Expr]:
        """Each loop and axis of which something is known as an expression of loops."""
        known: dict[str, Expr] = dict(scope.values)
        for item in reversed(self.order.relations):
            if isinstance(item, Split) and item.outer in known:
                inner = known.get(item.inner, Var(self.variable(item.inner)))
                known[item.loop] = binary("add", binary("mul", known[item.outer], index(item.factor)), inner)
        return known

    def shifted(self, axis: str, value: Expr) -> Expr:
        """A position within the range as one within the tensor."""
        return binary("add", self.origin[axis].expression(), value)

    def open_loops(self, rests: Mapping[str, int], scope: _Scope) -> dict[str, int]:
        """Variables of axes and loops that have no value yet, with their extents; rests are within those of axes."""
        return {self.variable(name): size for name, size in self.sizes(rests).items() if name not in scope.values}

    @property
    def waits(self) -> bool:
        """Whether threads may wait for each other inside this stage, so that no test may keep one of them away."""
        return _waits_in(self.emitter.state, self.stage.name)

    def tests(self, rests: Mapping[str, int], scope: _Scope, loop: str = "", starting: bool = False) -> list[Expr]:
        """Whether a position is within what guarded splits cut up: of those that are known inside `loop`, or of all."""
        found: list[Expr] = []
        sizes = self.sizes(rests)
        for item in self.order.relations:
            if not isinstance(item, Split) or not item.guard or sizes[item.loop] % item.factor == 0:
                continue
            leaves = [at for at in self.order.loops if at == item.loop or item.loop in ancestors(self.order, at)]
            if (loop and leaves[-1] != loop) or (starting and leaves[0] in self.order.reduce):
                continue
            found.append(binary("lt", self.loop_values(scope)[item.loop], index(sizes[item.loop])))
        return found

    def overruns(self, what: Expr, values: Mapping[str, Expr], scope: _Scope) -> list[Expr]:
        """Whether axes of an attached stage are within the tensor, where it reads memory that ends there."""
        if not scope.overruns or self.order.attached is None:
            return []
        far = {
            node.name for item in loads(what) if item.buffer not in scope.origins for node in walk(item) if isinstance(node, Var)
        }
        found: list[Expr] = []
        for axis in self.stage.axes:
            if axis.name not in far:
                continue
            first = self.origin[axis.name]
            if first.constant + first.span(scope.extents)[1] + self.extents[axis.name] > axis.extent:
                found.append(binary("lt", values[axis.name], index(axis.extent)))
        return found

    def attached(self, producer: Stage, rests: Mapping[str, int], scope: _Scope) -> tuple[Statement, _Scope]:
        """The nest of a stage over what the loops that are still to come read of it."""
        shared = self.emitter.state.orders[producer.name].shared
        ranges = self.needed(producer, rests, scope, scope.threads if shared else {})
        starts, sizes = zip(*ranges, strict=True) if ranges else ((), ())
        self.emitter.place(producer, sizes)
        names = [axis.name for axis in producer.axes]
        extents = {**dict(zip(names, sizes, strict=True)), **{axis.name: axis.extent for axis in producer.reduce}}
        origin = {**dict(zip(names, starts, strict=True)), **{axis.name: Affine() for axis in producer.reduce}}
        inner = replace(scope, values={}, origins={**scope.origins, producer.output: tuple(starts)})
        nest = self.emitter.stage(producer, extents, origin, inner)
        return nest, replace(scope, origins=inner.origins)

    def needed(
        self, producer: Stage, rests: Mapping[str, int], scope: _Scope, threads: Mapping[str, int]
    ) -> list[tuple[Affine, int]]:
        """What this stage, or others for it, read of a stage: a first position and a count for each dimension.

        It is what all of `threads` read together.
        """
        found: list[list[tuple[Affine, int]]] = [[] for _ in producer.axes]
        for reader in self.emitter.state.kernel.readers(producer):
            if reader is self.stage:
                values, open_loops = self.axis_values(scope), {**self.open_loops(rests, scope), **threads}
            else:
                values, open_loops = _ranged(reader, self.needed(reader, rests, scope, threads))
            for item in reader.reads():
                if item.buffer is producer.output:
                    for dimension, position in enumerate(item.indices):
                        found[dimension].append(self.range(substitute(position, values), open_loops, producer))
        whole = self.emitter.state.orders[producer.name].whole
        return [
            (Affine(), axis.extent) if axis.name == whole else _union(ranges, producer)
            for axis, ranges in zip(producer.axes, found, strict=True)
        ]

    def range(self, position: Expr, open_loops: Mapping[str, int], producer: Stage) -> tuple[Affine, int]:
        """First position that is read, and how many from there on."""
        position = without_divisions(position, open_loops)
        affine = affine_of(position)
        if affine is not None:
            low, high = affine.span(open_loops)
            return affine.without(open_loops).plus(Affine(low)), high - low + 1
        match position:
            case Binary(operation="mod", right=Const(value=divisor)):
                return Affine(), int(divisor)
            case Binary(operation="floordiv", left=left, right=Const(value=divisor)) if (total := affine_of(left)) is not None:
                outer = total.without(open_loops).plus(Affine(total.constant), -1)
                if all(factor % divisor == 0 for factor in outer.factors.values()):
                    first, last = (int((total.constant + end) // divisor) for end in total.span(open_loops))
                    start = Affine(first, {name: int(factor // divisor) for name, factor in outer.factors.items()})
                    return start, last - first + 1
        raise LoopError(f"{producer.name} is read at {position}, which is no sum of loops; it cannot be computed inside one")

    def store(self, rests: Mapping[str, int], scope: _Scope, starting: bool) -> Statement:
        """The innermost statement."""
        values = self.axis_values(scope)
        what = self.stage.initial if starting else self.stage.value
        assert what is not None
        extents = {**scope.extents, **{self.variable(name): size for name, size in self.sizes(rests).items()}}
        value = _relocated(without_divisions(substitute(what, values), extents), scope)
        place = _relocated(load(self.stage.output, [values[axis.name] for axis in self.stage.axes]), scope)
        assert isinstance(place, Load)
        store = Store(place.buffer, place.indices, value, None if starting else self.stage.combine)
        tests = self.tests(rests, scope, starting=starting) if self.waits else []
        return _tested([*tests, *self.overruns(what, values, scope)], store)


def _waits_in(state: Scheduled, stage: str) -> bool:
    """Whether something shared is computed in a stage, or in one that is computed in it."""
    inside = [name for name, order in state.orders.items() if order.attached and order.attached.reader == stage]
    return any(state.orders[name].shared or _waits_in(state, name) for name in inside)


def _reads_shared(state: Scheduled, stage: Stage, before: Sequence[Stage]) -> bool:
    """Whether a stage, or one that is computed in it, reads what the threads of a block compute together before it."""
    shared = {other.output for other in before if state.orders[other.name].shared}
    inside = [other for other in state.kernel.stages if _is_within(state, other.name, stage.name)]
    return any(item.buffer in shared for other in inside for item in other.reads())


def _is_within(state: Scheduled, stage: str, other: str) -> bool:
    """Whether a stage is another one, or computed in it."""
    if stage == other:
        return True
    place = state.orders[stage].attached
    return place is not None and _is_within(state, place.reader, other)


def _tested(conditions: Sequence[Expr], statement: Statement) -> Statement:
    """A statement that runs where conditions hold."""
    return If(reduce(lambda one, two: binary("and", one, two), conditions), statement) if conditions else statement


def _ranged(stage: Stage, ranges: Sequence[tuple[Affine, int]]) -> tuple[dict[str, Expr], dict[str, int]]:
    """Each axis of a stage as an expression, where ranges of it are computed, and the extents of variables in them."""
    variables = {axis.name: f"{stage.name}.{axis.name}" for axis in (*stage.axes, *stage.reduce)}
    values: dict[str, Expr] = {name: Var(variable) for name, variable in variables.items()}
    extents = {variables[axis.name]: axis.extent for axis in stage.reduce}
    for axis, (start, size) in zip(stage.axes, ranges, strict=True):
        values[axis.name] = binary("add", start.expression(), values[axis.name])
        extents[variables[axis.name]] = size
    return values, extents


def _union(ranges: Iterable[tuple[Affine, int]], producer: Stage) -> tuple[Affine, int]:
    (first, size), *others = ranges
    low, high = 0, size
    for start, count in others:
        apart = start.plus(first, -1)
        if apart.factors:
            raise LoopError(
                f"{producer.name} is read at places that are not a fixed distance apart; it cannot be computed inside a loop"
            )
        low, high = min(low, apart.constant), max(high, apart.constant + count)
    return first.plus(Affine(low)), high - low


def _relocated(expression: Expr, scope: _Scope) -> Expr:
    """Positions in small buffers, counted from what these begin with."""

    def change(node: Expr) -> Expr | None:
        if not isinstance(node, Load):
            return None
        indices = [_relocated(item, scope) for item in node.indices]
        for dimension, origin in enumerate(scope.origins.get(node.buffer, ())):
            position = affine_of(indices[dimension])
            if position is None:
                raise LoopError(
                    f"{node.buffer.name} is read at {indices[dimension]}, which is no sum of loops; it cannot be small"
                )
            indices[dimension] = position.plus(origin, -1).expression()
        return Load(node.buffer, tuple(indices))

    return map_expression(expression, change)


def _block(parts: Sequence[Statement]) -> Statement:
    flat = [item for part in parts for item in (part.statements if isinstance(part, Block) else (part,))]
    return flat[0] if len(flat) == 1 else Block(tuple(flat))


def _replaced(statement: Statement, buffers: Mapping[Buffer, Buffer]) -> Statement:
    def change(node: Expr) -> Expr | None:
        if isinstance(node, Load) and node.buffer in buffers:
            return Load(buffers[node.buffer], tuple(map_expression(item, change) for item in node.indices))
        return None

    match statement:
        case Store(buffer, indices, value, accumulate):
            places = tuple(map_expression(item, change) for item in indices)
            return Store(buffers.get(buffer, buffer), places, map_expression(value, change), accumulate)
        case Block(statements):
            return Block(tuple(_replaced(item, buffers) for item in statements))
        case Barrier():
            return statement
        case _:
            return replace(statement, body=_replaced(statement.body, buffers))
