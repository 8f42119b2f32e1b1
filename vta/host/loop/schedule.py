"""In which order and where a kernel computes: steps, as data. `scheduled` applies them and checks each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Axis, Kernel, Stage, axes_of
from vta.host.loop.errors import LoopError
from vta.host.loop.expression import Expr, Load, binary, const, index, load, map_expression, substitute
from vta.host.loop.nest import THREADS, VIRTUAL, LoopKind, is_thread
from vta.host.loop.steps import (
    Bind,
    Cache,
    CacheRead,
    ComputeAt,
    Dot,
    Fuse,
    Inline,
    Parallel,
    Part,
    Reorder,
    Share,
    Split,
    Step,
    Tensorize,
    Transpose,
    Unroll,
    Vectorize,
)
from vta.support.dataclass import dataclass

__all__ = [
    "LoopOrder",
    "Scheduled",
    "ancestors",
    "scheduled",
]


@dataclass(frozen=True)
class LoopOrder:
    """The loops of one stage."""

    loops: tuple[str, ...]
    """Outermost first."""
    reduce: frozenset[str] = frozenset()
    """Those that come from reduction axes."""
    relations: tuple[Split | Fuse, ...] = ()
    """How loops were made from axes, in order."""
    kinds: dict[str, LoopKind] = field(default_factory=dict)
    threads: dict[str, str] = field(default_factory=dict)
    attached: ComputeAt | None = None
    shared: bool = False
    """Whether threads have its small buffer together."""
    whole: str = ""
    """The axis that is computed whole, however much of it is read."""

    def kind(self, loop: str) -> LoopKind:
        """How a loop runs."""
        return self.kinds.get(loop, "serial")


@dataclass(frozen=True)
class Scheduled:
    """A kernel with the loops of each of its stages."""

    kernel: Kernel
    orders: dict[str, LoopOrder]

    def attached_to(self, stage: str, loop: str) -> list[Stage]:
        """Stages that are computed inside a loop of a stage."""
        places = {name: order.attached for name, order in self.orders.items()}
        return [item for item in self.kernel.stages if (at := places[item.name]) and (at.reader, at.loop) == (stage, loop)]


def scheduled(kernel: Kernel, steps: Iterable[Step]) -> Scheduled:
    """Apply steps to the plain order of a kernel; raises `LoopError` naming the step that is not legal, and why."""
    state = Scheduled(kernel, {stage.name: _plain(stage) for stage in kernel.stages})
    for step in steps:
        state = _checked(state, step)
    _check_whole(state)
    return state


def _checked(state: Scheduled, step: Step) -> Scheduled:
    try:
        return _apply(state, step)
    except LoopError as error:
        raise LoopError(f"{step}: {error}") from None


def _plain(stage: Stage) -> LoopOrder:
    axes, reduce = (tuple(axis.name for axis in group) for group in (stage.axes, stage.reduce))
    return LoopOrder((*axes, *reduce), frozenset(reduce))


def _apply(state: Scheduled, step: Step) -> Scheduled:
    order = state.orders[state.kernel.stage(step.stage).name]
    match step:
        case Cache():
            return _cache(state, step)
        case Part():
            return _part(state, step)
        case CacheRead():
            return _cache_read(state, step)
        case Inline():
            return _inline(state, step)
        case ComputeAt():
            new = _compute_at(state, order, step)
        case Split():
            new = _split(order, step)
        case Fuse():
            new = _fuse(order, step)
        case Reorder():
            new = _reorder(order, step)
        case Share():
            new = replace(order, shared=True)
        case Bind():
            _require_loop(order, step.loop)
            _require_thread(order, step.thread)
            new = replace(order, kinds={**order.kinds, step.loop: "bound"}, threads={**order.threads, step.loop: step.thread})
        case Tensorize(row=row, column=column, word=word, byte=byte):
            _require_loop(order, row, column, word, byte)
            new = replace(order, kinds={**order.kinds, **dict.fromkeys((row, column, word, byte), "tensor")})
        case Unroll() | Vectorize() | Transpose() | Parallel() | Dot():
            _require_loop(order, step.loop)
            whole = _whole_axis(state.kernel.stage(step.stage), step) or order.whole
            new = replace(order, kinds={**order.kinds, step.loop: _KINDS[type(step)]}, whole=whole)
    return replace(state, orders={**state.orders, step.stage: new})


_KINDS: dict[type, LoopKind] = {
    Unroll: "unrolled", Vectorize: "vectorized", Transpose: "transposed", Parallel: "parallel", Dot: "dot",
}  # fmt: skip

_LANES = ("vectorized", "transposed")
"""Loops all of whose turns run at once."""


def _whole_axis(stage: Stage, step: Step) -> str:
    """The axis of a stage that a step wants whole; "" if it does not."""
    if not isinstance(step, Vectorize) or not step.whole:
        return ""
    names = [axis.name for axis in stage.axes]
    if step.loop not in names:
        raise LoopError(f"loop {step.loop!r} is no axis that could be computed whole; there are: {', '.join(names)}")
    return step.loop


def _require_loop(order: LoopOrder, *loops: str) -> None:
    for loop in loops:
        if loop not in order.loops:
            raise LoopError(f"there is no loop {loop!r}; there are: {', '.join(order.loops)}")


def _require_thread(order: LoopOrder, thread: str) -> None:
    if thread not in (*THREADS, VIRTUAL):
        raise LoopError(f"there is no index {thread!r} of a grid; there are: {', '.join((*THREADS, VIRTUAL))}")
    if thread != VIRTUAL and thread in order.threads.values():
        raise LoopError(f"another loop is bound to {thread}")


def _require_new(order: LoopOrder, *names: str) -> None:
    taken = set(order.loops) | {name for item in order.relations for name in _parents(item)}
    for name in names:
        if name in taken or names.count(name) > 1:
            raise LoopError(f"the name {name!r} is taken")


def _parents(relation: Split | Fuse) -> tuple[str, ...]:
    return (relation.loop,) if isinstance(relation, Split) else (relation.first, relation.second)


def _split(order: LoopOrder, step: Split) -> LoopOrder:
    _require_loop(order, step.loop)
    _require_new(order, step.outer, step.inner)
    if step.factor < 1:
        raise LoopError("the factor must be at least 1")
    at = order.loops.index(step.loop)
    loops = (*order.loops[:at], step.outer, step.inner, *order.loops[at + 1 :])
    made = {step.outer, step.inner} if step.loop in order.reduce else set()
    return replace(order, loops=loops, reduce=(order.reduce - {step.loop}) | made, relations=(*order.relations, step))


def _fuse(order: LoopOrder, step: Fuse) -> LoopOrder:
    _require_loop(order, step.first, step.second)
    _require_new(order, step.name)
    at = order.loops.index(step.first)
    if order.loops[at + 1 : at + 2] != (step.second,):
        raise LoopError(f"{step.second!r} does not follow {step.first!r} at once")
    if (step.first in order.reduce) != (step.second in order.reduce):
        raise LoopError("one of the loops is part of a reduction, the other is not")
    loops = (*order.loops[:at], step.name, *order.loops[at + 2 :])
    made = {step.name} if step.first in order.reduce else set()
    reduce = (order.reduce - {step.first, step.second}) | made
    return replace(order, loops=loops, reduce=reduce, relations=(*order.relations, step))


def _reorder(order: LoopOrder, step: Reorder) -> LoopOrder:
    _require_loop(order, *step.loops)
    if len(set(step.loops)) != len(step.loops):
        raise LoopError("a loop is named twice")
    places = iter(step.loops)
    loops = tuple(next(places) if loop in step.loops else loop for loop in order.loops)
    for item in order.relations:
        if isinstance(item, Split) and not item.guard and _stands_before(order, loops, item.inner, item.outer):
            raise LoopError(f"{item.inner!r} would come before {item.outer!r}, whose blocks may leave a rest")
    return replace(order, loops=loops)


def _stands_before(order: LoopOrder, loops: Sequence[str], inner: str, outer: str) -> bool:
    """Whether any loop that `inner` became stands before one that `outer` became."""
    first, second = ([at for at, loop in enumerate(loops) if name in (loop, *ancestors(order, loop))] for name in (inner, outer))
    return bool(first and second) and min(first) < max(second)


def ancestors(order: LoopOrder, loop: str) -> set[str]:
    """The loops and axes that a loop was made from."""
    found: set[str] = set()
    pending = [loop]
    while pending:
        name = pending.pop()
        for item in order.relations:
            if name in ((item.outer, item.inner) if isinstance(item, Split) else (item.name,)):
                found.update(_parents(item))
                pending += _parents(item)
    return found


def _cache(state: Scheduled, step: Cache) -> Scheduled:
    stage = state.kernel.stage(step.stage)
    if state.orders[step.stage] != _plain(stage):
        raise LoopError("a stage is cached before its loops are changed")
    buffer = Buffer(step.name, stage.output.shape, stage.output.dtype)
    first = replace(stage, output=buffer)
    copy = Stage(stage.output, stage.axes, load(buffer, [axis.var for axis in stage.axes]))
    stages = tuple(item for old in state.kernel.stages for item in ((first, copy) if old is stage else (old,)))
    orders = {**state.orders, step.name: _plain(first), step.stage: _plain(copy)}
    return Scheduled(replace(state.kernel, stages=stages), orders)


def _part(state: Scheduled, step: Part) -> Scheduled:
    stage = state.kernel.stage(step.stage)
    if state.orders[step.stage] != _plain(stage):
        raise LoopError("a reduction is parted before its loops are changed")
    whole = next((axis for axis in stage.reduce if axis.name == step.axis), None)
    if whole is None:
        raise LoopError(f"{step.axis!r} is no axis of its reduction; there are: {', '.join(a.name for a in stage.reduce)}")
    if step.factor < 1 or whole.extent % step.factor:
        raise LoopError(f"{whole.extent} values of {step.axis} are not combined {step.factor} at a time")
    assert stage.combine is not None
    assert stage.initial is not None
    dtype = stage.output.dtype
    # What changes nothing; smallest and largest values may be started from again and again.
    neutral = {"add": const(0, dtype), "mul": const(1, dtype)}.get(stage.combine, stage.initial)
    outer, inner = Axis(step.name, whole.extent // step.factor), Axis(step.axis, step.factor)
    far, near, count = (inner, outer, outer.extent) if step.interleaved else (outer, inner, step.factor)
    place = binary("add", binary("mul", far.var, index(count)), near.var)
    axes = (outer, *stage.axes)
    buffer = Buffer(step.name, tuple(axis.extent for axis in axes), dtype)
    reduce = tuple(inner if axis is whole else axis for axis in stage.reduce)
    parts = Stage(buffer, axes, substitute(stage.value, {step.axis: place}), reduce, stage.combine, neutral)
    read = load(buffer, [axis.var for axis in axes])
    total = Stage(stage.output, stage.axes, read, (outer,), stage.combine, stage.initial)
    stages = tuple(item for old in state.kernel.stages for item in ((parts, total) if old is stage else (old,)))
    orders = {**state.orders, step.name: _plain(parts), step.stage: _plain(total)}
    return Scheduled(replace(state.kernel, stages=stages), orders)


def _cache_read(state: Scheduled, step: CacheRead) -> Scheduled:
    stage = state.kernel.stage(step.stage)
    found = next((item.buffer for item in stage.reads() if item.buffer.name == step.buffer), None)
    if found is None:
        raise LoopError(f"it does not read {step.buffer!r}; it reads: {', '.join({item.buffer.name for item in stage.reads()})}")
    source = found
    axes = axes_of({f"r{at}": extent for at, extent in enumerate(source.shape)})
    copy = Stage(Buffer(step.name, source.shape, source.dtype), axes, load(source, [axis.var for axis in axes]))

    def change(node: Expr) -> Expr | None:
        if not (isinstance(node, Load) and node.buffer is source):
            return None
        return load(copy.output, [map_expression(at, change) for at in node.indices])

    initial = None if stage.initial is None else map_expression(stage.initial, change)
    reader = replace(stage, value=map_expression(stage.value, change), initial=initial)
    stages = tuple(item for old in state.kernel.stages for item in ((copy, reader) if old is stage else (old,)))
    return Scheduled(replace(state.kernel, stages=stages), {**state.orders, step.name: _plain(copy)})


def _inline(state: Scheduled, step: Inline) -> Scheduled:
    stage = state.kernel.stage(step.stage)
    if stage.reduce:
        raise LoopError("a reduction cannot be computed anew for each reader")
    if stage is state.kernel.stages[-1]:
        raise LoopError("it is the kernel's output")
    if state.orders[step.stage] != _plain(stage) or any(
        order.attached and order.attached.reader == step.stage for order in state.orders.values()
    ):
        raise LoopError("a stage is inlined before its loops are changed or others are computed in it")

    def change(node: Expr) -> Expr | None:
        if not (isinstance(node, Load) and node.buffer is stage.output):
            return None
        places = {axis.name: map_expression(at, change) for axis, at in zip(stage.axes, node.indices, strict=True)}
        return substitute(stage.value, places)

    def rewritten(other: Stage) -> Stage:
        initial = None if other.initial is None else map_expression(other.initial, change)
        return replace(other, value=map_expression(other.value, change), initial=initial)

    stages = tuple(rewritten(other) for other in state.kernel.stages if other is not stage)
    orders = {name: order for name, order in state.orders.items() if name != step.stage}
    return Scheduled(replace(state.kernel, stages=stages), orders)


def _compute_at(state: Scheduled, order: LoopOrder, step: ComputeAt) -> LoopOrder:
    stage = state.kernel.stage(step.stage)
    if stage is state.kernel.stages[-1]:
        raise LoopError("it is the kernel's output")
    state.kernel.stage(step.reader)
    _require_loop(state.orders[step.reader], step.loop)
    return replace(order, attached=step)


def _check_whole(state: Scheduled) -> None:
    """What later steps could still have mended."""
    for name, order in state.orders.items():
        if order.attached is not None:
            _check_attached(state, state.kernel.stage(name), order.attached)
        _check_kinds(name, order)
        _check_threads(state, name, order)


def _check_attached(state: Scheduled, stage: Stage, place: ComputeAt) -> None:
    """All that read a stage must be computed where it is."""
    loops = state.orders[place.reader].loops
    if place.loop not in loops:
        raise LoopError(f"{stage.name} is computed at {place.loop}, which {place.reader} has no more")
    kind = state.orders[place.reader].kind(place.loop)
    if kind in _LANES:
        raise LoopError(f"{stage.name} is computed at {place.loop}, which is {kind}: lanes have no copies of it")
    readers = state.kernel.readers(stage)
    if not readers:
        raise LoopError(f"{stage.name} is computed inside {place.reader}, but nothing reads it")
    for reader in readers:
        name, inside = reader.name, len(loops)
        while name != place.reader:
            upper = state.orders[name].attached
            if upper is None:
                raise LoopError(f"{stage.name} is computed inside {place.reader}, but {reader.name}, which reads it, is not")
            name = upper.reader
            inside = loops.index(upper.loop) if name == place.reader and upper.loop in loops else len(loops)
        if inside < loops.index(place.loop):
            raise LoopError(f"{stage.name} is computed at {place.loop}, further inside than {reader.name}, which reads it")


def _check_kinds(name: str, order: LoopOrder) -> None:
    loops = list(order.loops)
    tensor = [loop for loop in loops if order.kind(loop) == "tensor"]
    if tensor and (loops[-4:] != tensor or [loop in order.reduce for loop in tensor] != [False, False, True, True]):
        raise LoopError(
            f"{name}: {', '.join(tensor)}: the four innermost loops of a reduction, two of them results, are matrices"
        )
    dots = [loop for loop in loops if order.kind(loop) == "dot"]
    vectors = [loop for loop in loops if order.kind(loop) == "vectorized"]
    parallel = [loop for loop in loops if order.kind(loop) == "parallel"]
    if dots and (len(dots) > 1 or loops[-1] != dots[0] or dots[0] not in order.reduce):
        raise LoopError(f"{name}: {', '.join(dots)}: one reduction, the innermost loop, can be a dot product")
    inner = loops[: len(loops) - len(dots)]
    if vectors and (len(vectors) > 1 or inner[-1] != vectors[0] or vectors[0] in order.reduce):
        raise LoopError(f"{name}: {', '.join(vectors)}: one loop can be vectorized, the innermost one, and no reduction")
    turned = [loop for loop in loops if order.kind(loop) == "transposed"]
    if turned and (loops[-2:] != [*turned, *vectors] or order.reduce):
        raise LoopError(
            f"{name}: {', '.join(turned)}: only the loop around a vectorized one can be transposed, and not in a reduction"
        )
    if parallel and (len(parallel) > 1 or loops[0] != parallel[0] or parallel[0] in order.reduce or order.attached):
        raise LoopError(
            f"{name}: {', '.join(parallel)}: only the outermost loop of a stage computed by itself can be parallel, "
            "and no reduction"
        )


def _check_threads(state: Scheduled, name: str, order: LoopOrder) -> None:
    """Bound loops stand for threads all of which do the same up to them."""
    bound = [loop for loop in order.loops if order.kind(loop) == "bound"]
    if list(order.loops[: len(bound)]) != bound:
        raise LoopError(f"{name}: {', '.join(bound)}: what is bound to threads is outside of all other loops")
    if any(loop in order.reduce for loop in bound):
        raise LoopError(f"{name}: {', '.join(bound)}: threads cannot share a reduction; compute parts of it in a stage")
    if order.shared and order.attached is None:
        raise LoopError(f"{name}: what threads have together is computed inside another stage")
    if order.attached is not None and not order.shared and bound:
        raise LoopError(f"{name}: {', '.join(bound)}: each thread computes its own, unless they have it together")
    if order.attached is not None and any(not is_thread(order.threads[loop]) for loop in bound):
        raise LoopError(f"{name}: {', '.join(bound)}: a stage inside another is computed by the threads of one block")
