"""Object files that are made once for a program and a processor. What is kept needs no LLVM, which takes a while to load."""

from __future__ import annotations

from pathlib import Path

import llvmlite
import numpy as np

from vta.files.cache import Arrays, code_digest, remembered
from vta.host.outline import ProgramOutline
from vta.host.processors import CpuTarget

__all__ = ["kept_object"]

_LLVM, _LOOP = Path(__file__).parent, Path(__file__).parents[1] / "loop"
_CODE = (
    *(_LLVM / f"{name}.py" for name in ("dot", "emit", "functions", "jit", "module", "scalars", "vectors")),
    *(_LOOP / f"{name}.py" for name in ("affine", "nest")),
)
"""What decides which code a program becomes."""


def kept_object(program: ProgramOutline, target: CpuTarget) -> bytes:
    """The object file that `compile_object` gives of a program, from the cache where it was made before.

    Programs with the same loops have the same name.
    """
    key = f"{llvmlite.__version__}\n{target}\n{program.name}".encode() + code_digest(*_CODE)

    def make() -> Arrays:
        from vta.host.llvm.jit import compile_object

        return {"code": np.frombuffer(compile_object(program.lowered(), target), np.uint8)}

    return remembered("host-kernels", key, make)["code"].tobytes()
