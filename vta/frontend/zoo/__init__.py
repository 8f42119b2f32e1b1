"""Networks built in by name, with seeded weights: structures to compile, time and tune without a model file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from vta.errors import UsageError
from vta.frontend.mxnet.importer import import_symbol
from vta.frontend.mxnet.parameters import SeededParameters
from vta.frontend.mxnet.symbol import Symbol
from vta.frontend.plain_nets import PLAIN_NETS
from vta.frontend.zoo.dcgan import DCGAN_NOISE, dcgan_symbol
from vta.frontend.zoo.inception import inception_v3_symbol
from vta.frontend.zoo.plain import mobilenet_symbol, vgg_symbol
from vta.frontend.zoo.resnet import STAGES, resnet_symbol
from vta.frontend.zoo.tiny import resnet8_symbol
from vta.ir.graph import Graph

__all__ = ["built_in", "built_in_names", "dcgan_symbol", "known_name", "resnet_symbol"]

Shape = tuple[int, ...]

_IMAGE = (1, 3, 224, 224)
_RESIDUAL: dict[str, Callable[[], Symbol]] = {
    f"resnet{depth}_v{version}": partial(resnet_symbol, depth, version) for version in (1, 2) for depth in STAGES
}
_SYMBOLS: dict[str, tuple[Callable[[], Symbol], Shape]] = {
    **{name: (make, _IMAGE) for name, make in _RESIDUAL.items()},
    "mobilenet1.0": (partial(mobilenet_symbol, 1.0), _IMAGE),
    "mobilenet0.5": (partial(mobilenet_symbol, 0.5), _IMAGE),
    "mobilenet0.25": (partial(mobilenet_symbol, 0.25), _IMAGE),
    "vgg16": (vgg_symbol, _IMAGE),
    "inceptionv3": (inception_v3_symbol, (1, 3, 299, 299)),
    "resnet8": (resnet8_symbol, (1, 3, 32, 32)),
    "dcgan": (dcgan_symbol, DCGAN_NOISE),
}
"""By name, what makes the structure, and the usual size of its input."""


_ELSEWHERE = {
    **{f"resnet-{depth}": f"resnet{depth}_v1" for depth in STAGES},
    "vgg-16": "vgg16",
    "mobilenet": "mobilenet1.0",
    "squeezenet_v1.1": "squeezenet1.1",
    "inception_v3": "inceptionv3",
}
"""What networks are called by users of other tuners."""


def known_name(name: str) -> str:
    """Our name of a network that users of other tuners call `name`; `name` itself for all else."""
    return _ELSEWHERE.get(name, name)


def built_in_names() -> list[str]:
    """Names that `built_in` knows."""
    return [*_RESIDUAL, *PLAIN_NETS, *(name for name in _SYMBOLS if name not in _RESIDUAL)]


def built_in(name: str, shapes: Mapping[str, Shape] | None = None, seed: int = 0) -> Graph:
    """Return the network called `name`; its input `data` has the usual size, one image, unless `shapes` says otherwise.

    Raises `UsageError` listing the names if there is none called that.
    """
    if name not in built_in_names():
        raise UsageError(f"no built-in network is called {name!r}; there are {', '.join(built_in_names())}")
    if name in PLAIN_NETS:
        build, shape = PLAIN_NETS[name]
        unknown = [key for key in shapes or {} if key != "data"]
        if unknown:
            raise UsageError(f"{name} has no input {unknown[0]!r}; its input is 'data'")
        return build(tuple((shapes or {}).get("data", shape)), seed)
    make, shape = _SYMBOLS[name]
    return import_symbol(make(), SeededParameters(seed), shapes or {"data": shape}, name, name)
