"""LLVM itself. Its library is opened when this is first imported, which takes a while: only where something must be compiled."""

from __future__ import annotations

from vta.errors import CompileError

try:
    import llvmlite.binding as llvm
except OSError as error:
    raise CompileError("LLVM cannot be loaded: llvmlite's library is damaged, or memory is short") from error

__all__ = ["llvm"]
