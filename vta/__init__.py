"""vta: from a trained network to programs of the VTA accelerator, and their simulation."""

from __future__ import annotations

from typing import Any

__all__ = ["compile"]


def __getattr__(name: str) -> Any:
    """Import the compiler when it is first asked for, so that small commands start at once."""
    if name == "compile":
        from vta.compiler import compile_model

        return compile_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
