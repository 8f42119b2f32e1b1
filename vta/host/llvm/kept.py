"""Object files that are made once for a program and a processor. What is kept needs no LLVM, which takes a while to load."""

from __future__ import annotations

from pathlib import Path

import llvmlite
import numpy as np

from vta.files.cache import Arrays, code_digest, remembered
from vta.host.loop.nest import Program
from vta.host.loop.text import program_text
from vta.host.processors import CpuTarget

__all__ = ["kept_object"]

_CODE = (
    *(Path(__file__).with_name(name) for name in ("dot.py", "emit.py", "functions.py", "jit.py", "scalars.py", "vectors.py")),
    *(Path(__file__).parents[1] / "loop" / name for name in ("affine.py", "nest.py")),
)
"""What decides which code a program becomes."""


def kept_object(program: Program, target: CpuTarget) -> bytes:
    """An object file as `compile_object` returns it, from the cache where it was made before."""
    key = f"{llvmlite.__version__}\n{target}\n{program_text(program)}".encode() + code_digest(*_CODE)

    def make() -> Arrays:
        from vta.host.llvm.jit import compile_object

        return {"code": np.frombuffer(compile_object(program, target), np.uint8)}

    return remembered("host-kernels", key, make)["code"].tobytes()
