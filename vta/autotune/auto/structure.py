"""How the stages of a kernel hang together: which one does the work, what feeds it, and what is made of its results."""

from __future__ import annotations

from math import prod

from vta.host.loop.affine import affine_of
from vta.host.loop.compute import Axis, Kernel, Stage
from vta.host.loop.expression import INDEX, Binary, Const, Expr, Load, Var, loads, walk
from vta.support.dataclass import dataclass

__all__ = ["Structure", "Unit", "has_byte_products", "heaviest", "operations", "structure_of", "unit_axis"]


@dataclass(frozen=True)
class Unit:
    """One axis of a stage that is copied from another, as the other's axes see it."""

    axis: str
    """Of the stage that reads."""
    size: int = 1
    """How many of its positions are one of the other's."""


@dataclass(frozen=True)
class Structure:
    """The stages of a kernel by what they are for the heaviest reduction."""

    kernel: Kernel
    main: Stage
    """The reduction that does most of the work."""
    reader: Stage
    """Makes each of its elements of the one of `main` at the same place; nothing else reads `main`."""
    turned: Stage | None
    """The kernel's output, where that is `reader` in another layout."""
    units: dict[str, Unit]
    """Of the axes of `reader`, where there is a `turned`; lanes of a block have none."""
    producers: tuple[Stage, ...]
    """Those that `main` reads, and nothing else does."""
    others: tuple[Stage, ...]


def structure_of(kernel: Kernel) -> Structure | None:
    """The structure around the heaviest reduction; None where there is none whose results are read one by one."""
    main = heaviest(kernel)
    if main is None:
        return None
    readers = kernel.readers(main)
    if len(readers) != 1 or not _reads_in_place(readers[0], main):
        return None
    reader = readers[0]
    later = kernel.readers(reader)
    units = _units(later[0], reader) if len(later) == 1 and later[0] is kernel.stages[-1] else None
    turned = later[0] if units is not None else None
    read = {item.buffer for item in main.reads()}
    producers = tuple(
        stage for stage in kernel.stages if stage.output in read and kernel.readers(stage) == [main] and not stage.reduce
    )
    known = {main.name, reader.name, *(stage.name for stage in producers), *([turned.name] if turned else [])}
    others = tuple(stage for stage in kernel.stages if stage.name not in known)
    return Structure(kernel, main, reader, turned, units or {}, producers, others)


def heaviest(kernel: Kernel) -> Stage | None:
    """The reduction with most operations; None where there is none."""
    return max((stage for stage in kernel.stages if stage.reduce), key=operations, default=None)


def operations(stage: Stage) -> int:
    """Arithmetic operations of a stage, index arithmetic left out."""
    points = prod(axis.extent for axis in (*stage.axes, *stage.reduce))
    return points * (arithmetic(stage.value) + (stage.combine is not None))


def arithmetic(value: Expr) -> int:
    """Arithmetic operations of one value."""
    return sum(not isinstance(node, Const | Var | Load) and node.dtype not in (INDEX, "bool") for node in walk(value))


def _reads_in_place(reader: Stage, main: Stage) -> bool:
    places = tuple(axis.var for axis in reader.axes)
    found = [item for item in reader.reads() if item.buffer is main.output]
    return not reader.reduce and all(item.indices == places for item in found)


def _units(turned: Stage, reader: Stage) -> dict[str, Unit] | None:
    """How the axes of `reader` are found in those of a stage that copies it; None if it does not."""
    (place,) = turned.reads() if len(turned.reads()) == 1 else (None,)
    if place is None or turned.reduce or place.buffer is not reader.output:
        return None
    units = {}
    for axis, position in zip(reader.axes, place.indices, strict=True):
        match position:
            case Var(name=name):
                units[axis.name] = Unit(name)
            case Const(value=0):
                continue
            case Binary(operation="floordiv", left=Var(name=name), right=Const(value=size)):
                units[axis.name] = Unit(name, int(size))
            case Binary(operation="mod", left=Var(), right=Const(value=size)) if size == axis.extent:
                continue
            case _:
                return None
    return units


def unit_axis(place: Load) -> tuple[str, int] | None:
    """The axis along which a load goes through neighbours in memory, and after how many of them it jumps (0 for never)."""
    positions = [at for at, size in zip(place.indices, place.buffer.shape, strict=True) if size > 1]
    if not positions:
        return None
    match positions[-1]:
        case Binary(operation="mod", left=Var(name=name), right=Const(value=size)):
            return name, int(size)
        case last:
            affine = affine_of(last)
            ones = [] if affine is None else [name for name, factor in affine.factors.items() if factor == 1]
            return (ones[0], 0) if len(ones) == 1 else None


def has_byte_products(stage: Stage) -> Axis | None:
    """The axis of a reduction over four neighbours that dot products of bytes can take; None if there is none."""
    if not stage.reduce or stage.combine != "add" or stage.output.dtype != "int32" or stage.reduce[-1].extent != 4:
        return None
    last = stage.reduce[-1]
    found = loads(stage.value)
    if [item.buffer.dtype for item in found] != ["uint8", "int8"]:
        return None
    data, weight = found
    along = [affine_of(item.indices[-1]) for item in found]
    near = all(affine is not None and affine.factors.get(last.name) == 1 for affine in along)
    lane = stage.axes[-1].name
    return last if near and weight.indices[-2:-1] == (Var(lane),) and _without(data, lane) else None


def _without(place: Load, axis: str) -> bool:
    return all(node != Var(axis) for index in place.indices for node in walk(index))
