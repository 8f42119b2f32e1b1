"""Import of trained networks: a model file or a built-in name becomes a `Graph`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vta.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from vta.frontend.load import load_model
    from vta.frontend.mxnet.gluon import from_gluon
    from vta.frontend.zoo import built_in, built_in_names

__all__ = ["built_in", "built_in_names", "from_gluon", "load_model"]

__getattr__ = lazy_names(
    __name__,
    {
        "vta.frontend.load": ("load_model",),
        "vta.frontend.mxnet.gluon": ("from_gluon",),
        "vta.frontend.zoo": ("built_in", "built_in_names"),
    },
)
