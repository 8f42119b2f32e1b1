"""What goes wrong while kernels are described or scheduled."""

from __future__ import annotations

from vta.errors import CompileError

__all__ = ["LoopError"]


class LoopError(CompileError):
    """A kernel or a schedule that makes no sense; the message names the stage, the loop and what is allowed."""
