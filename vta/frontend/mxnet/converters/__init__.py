"""How each operator of MXNet becomes operators of the graph."""

from __future__ import annotations

from vta.frontend.mxnet.converters import arithmetic, layout, neural
from vta.frontend.mxnet.layer import Converter

__all__ = ["CONVERTERS"]

CONVERTERS: dict[str, Converter] = {**neural.CONVERTERS, **arithmetic.CONVERTERS, **layout.CONVERTERS}
