"""vta: from a trained network to programs of the VTA accelerator, and their simulation."""

from __future__ import annotations

from typing import Any

__all__ = ["__version__", "compile"]


def __dir__() -> list[str]:
    """What the package offers."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import the compiler when it is first asked for, so that small commands start at once."""
    if name == "compile":
        from vta.compiler.compile import compile_model

        return compile_model
    if name == "__version__":
        from importlib.metadata import version

        return version("vta")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
