"""The kinds of models that are generated, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol, TypeVar

from vta.testing.import_fuzz.description import Description, Illegal
from vta.testing.import_fuzz.onnx_net import OnnxNet
from vta.testing.import_fuzz.onnx_operators.elementwise import ELEMENTWISE
from vta.testing.import_fuzz.onnx_operators.idioms import IDIOMS
from vta.testing.import_fuzz.onnx_operators.indexed import INDEXED
from vta.testing.import_fuzz.onnx_operators.integer import DYNAMIC, INTEGER
from vta.testing.import_fuzz.onnx_operators.known import KNOWN
from vta.testing.import_fuzz.onnx_operators.layers import LAYERS
from vta.testing.import_fuzz.onnx_operators.layout import LAYOUT
from vta.testing.import_fuzz.onnx_operators.quantized import QDQ, Bytes, QdqNet
from vta.testing.import_fuzz.onnx_operators.reductions import REDUCTIONS
from vta.testing.import_fuzz.tflite_net import TfliteNet
from vta.testing.import_fuzz.tflite_operators.layers import LATER
from vta.testing.import_fuzz.tflite_operators.layers import LAYERS as LITE_LAYERS
from vta.testing.import_fuzz.tflite_operators.more import MORE
from vta.testing.import_fuzz.tflite_operators.others import OTHERS

__all__ = ["FAMILIES", "ON_REQUEST", "generate"]


class _Growing(Protocol):
    """A model under construction."""

    def checkpoint(self) -> Callable[[], None]:
        """Return what takes back all that is added from now on."""


_Given = TypeVar("_Given", bound=_Growing)

_OPSETS = range(7, 23)
_TRIES = 30
"""Operators to try before a model is left with fewer than it was to have."""

_FLOAT: dict[str, tuple[Callable[[OnnxNet], None], ...]] = {
    "elementwise": ELEMENTWISE,
    "layout": (*LAYOUT, *INDEXED),
    "reductions": REDUCTIONS,
    "layers": LAYERS,
    "idioms": (*IDIOMS, *KNOWN, *KNOWN),
    "mixed": (*ELEMENTWISE, *LAYOUT, *INDEXED, *REDUCTIONS, *LAYERS, *IDIOMS, *KNOWN),
}
_BYTES: dict[str, tuple[Callable[[QdqNet], None], ...]] = {
    "qdq": QDQ,
    "qlinear": INTEGER,
    "dynamic": DYNAMIC,
}

_TYPES = ("int8", "uint8", "int16", "float32")

FAMILIES: dict[str, tuple[str, ...]] = {"onnx": (*_FLOAT, *_BYTES), "tflite": _TYPES}
"""Of each front end."""
ON_REQUEST = ("int16",)
"""Families that the importers refuse as a whole."""


def generate(frontend: str, family: str, seed: int) -> Description:
    """Return the model of a seed; the same for the same arguments."""
    rng = Random(f"{frontend} {family} {seed}")
    grow = _tflite if frontend == "tflite" else _onnx
    found = None
    while found is None:
        found = _if_legal(grow, family, rng)
    return found


def _if_legal(grow: Callable[[str, Random], Description], family: str, rng: Random) -> Description | None:
    try:
        return grow(family, rng)
    except Illegal:
        return None


def _onnx(family: str, rng: Random) -> Description:
    net = OnnxNet(rng, rng.choice(_OPSETS), f"onnx/{family}")
    if family in _FLOAT:
        _inputs(net, family)
        _grow(rng, net, _FLOAT[family], rng.choice((1, 1, 2, 2, 3, 4)))
    else:
        _grow_bytes(net, family)
    if not net.steps:
        raise Illegal("no operator")
    found = net.described()
    if not found.steps or not found.inputs:
        raise Illegal("nothing depends on an input")
    return found


def _tflite(dtype: str, rng: Random) -> Description:
    net = TfliteNet(rng, dtype, f"tflite/{dtype}")
    net.input(_shape(rng, channels_last=True))
    _grow(rng, net, (*LITE_LAYERS, *LITE_LAYERS, *LITE_LAYERS, *OTHERS, *OTHERS, *MORE, *LATER), rng.choice((1, 1, 2, 3, 4)))
    found = net.described()
    if not found.steps or not found.inputs:
        raise Illegal("nothing depends on an input")
    return found


def _grow(rng: Random, given: _Given, operators: Sequence[Callable[[_Given], None]], count: int) -> None:
    """Add `count` operators; what one of them added before it found out that it is not legal is taken back."""
    for _ in range(_TRIES):
        count -= _added(given, rng.choice(operators))
        if count <= 0:
            return


def _added(given: _Given, operator: Callable[[_Given], None]) -> bool:
    take_back = given.checkpoint()
    try:
        operator(given)
    except Illegal:
        take_back()
        return False
    return True


def _inputs(net: OnnxNet, family: str) -> None:
    """One input or two, of any number of dimensions; images more often."""
    for _ in range(net.rng.choice((1, 1, 2))):
        net.input(_shape(net.rng), draw=net.rng.choice(("normal", "eighths", "unit")))
    if family in ("elementwise", "layout", "mixed") and net.rng.random() < 0.4:
        dtype = net.rng.choice(("int64", "int32", "bool", "int8", "uint8"))
        net.input(_shape(net.rng), dtype, "small" if dtype != "uint8" else "all")


def _shape(rng: Random, channels_last: bool = False) -> tuple[int, ...]:
    rank = rng.choice((1, 2, 3, 3, 4, 4, 4, 4, 4, 5))
    batch = rng.choice((1, 1, 1, 2, 3))
    channels = rng.choice((1, 2, 3, 4, 4, 6, 8))
    sizes = {4: range(1, 9), 5: range(1, 4)}.get(rank, range(1, 13))
    if rank == 1:
        return (rng.randint(1, 9),)
    space = tuple(rng.choice(sizes) for _ in range(rank - 2))
    return (batch, *space, channels) if channels_last else (batch, channels, *space)


def _grow_bytes(net: OnnxNet, family: str) -> None:
    qdq = QdqNet(net)
    rank = net.rng.choice((2, 3, 4, 4, 4))
    shape = _shape(net.rng)
    while len(shape) != rank:
        shape = _shape(net.rng)
    if family == "dynamic":
        net.input(shape, draw=net.rng.choice(("normal", "eighths")))
    elif net.opset < 10:
        raise Illegal("since version 10")
    elif net.rng.random() < 0.6:
        real = net.input(shape, draw=net.rng.choice(("normal", "eighths")))
        qdq.quantized(real, 2.0)
    else:
        scale, zero_point = qdq.scale(0.05), qdq.zero_point(qdq.dtype)
        qdq.dequantized(Bytes(net.input(shape, qdq.dtype), qdq.dtype, scale, zero_point))
    _grow(net.rng, qdq, _BYTES[family], net.rng.choice((1, 1, 2, 3, 4)))
