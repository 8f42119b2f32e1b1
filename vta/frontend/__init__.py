"""Import of trained networks: a model file or a built-in name becomes a `Graph`."""

from __future__ import annotations

from vta.frontend.load import load_model
from vta.frontend.mxnet.gluon import from_gluon
from vta.frontend.zoo import built_in, built_in_names

__all__ = ["built_in", "built_in_names", "from_gluon", "load_model"]
