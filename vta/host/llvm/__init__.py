"""Machine code for loops, by LLVM."""

from vta.errors import CompileError

try:
    import llvmlite.binding  # noqa: F401  (it opens its library when it is first imported)
except OSError as error:
    raise CompileError("LLVM cannot be loaded: llvmlite's library is damaged, or memory is short") from error
