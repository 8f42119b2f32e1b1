"""vta: from a trained network to programs of the VTA accelerator, and their simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vta.api.compile import compile, quantize
    from vta.api.connect import connect
    from vta.api.diff import diff
    from vta.api.explain import explain
    from vta.api.tune import tune
    from vta.config.hardware import HardwareConfig
    from vta.errors import VTAError
    from vta.frontend import load_model
    from vta.pages.report import write_report
    from vta.records.sources import schedules
    from vta.runtime.compiled_module import load
    from vta.runtime.evaluation.dataset import Preprocessing, load_dataset
    from vta.runtime.evaluation.evaluate import evaluate_top1
    from vta.runtime.local_device import open_device

    __version__: str

__all__ = [
    "HardwareConfig",
    "Preprocessing",
    "VTAError",
    "__version__",
    "compile",
    "connect",
    "diff",
    "evaluate_top1",
    "explain",
    "load",
    "load_dataset",
    "load_model",
    "open_device",
    "quantize",
    "schedules",
    "tune",
    "write_report",
]

_HOMES = {
    "HardwareConfig": "vta.config.hardware",
    "Preprocessing": "vta.runtime.evaluation.dataset",
    "VTAError": "vta.errors",
    "compile": "vta.api.compile",
    "connect": "vta.api.connect",
    "diff": "vta.api.diff",
    "evaluate_top1": "vta.runtime.evaluation.evaluate",
    "explain": "vta.api.explain",
    "load": "vta.runtime.compiled_module",
    "load_dataset": "vta.runtime.evaluation.dataset",
    "load_model": "vta.frontend",
    "open_device": "vta.runtime.local_device",
    "quantize": "vta.api.compile",
    "schedules": "vta.records.sources",
    "tune": "vta.api.tune",
    "write_report": "vta.pages.report",
}
"""The module of each name, which is imported when the name is first asked for: small commands start at once."""


def __dir__() -> list[str]:
    """What the package offers."""
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """A name of the package. Raises `AttributeError` if there is none."""
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
    elif name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            value = version("vta")
        except PackageNotFoundError:
            value = "0+unknown"
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
