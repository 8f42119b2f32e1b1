"""Builds `vta._native`: the C++ core of the package behind its plain C headers, through cffi."""

from __future__ import annotations

import re
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parent
HEADERS = sorted((ROOT / "include").glob("*.h"))
SOURCES = sorted(ROOT.glob("*.cc"))


def declarations(header: str) -> str:
    """Return the C declarations of a header, without preprocessor lines, comments and linkage blocks."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.DOTALL)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.DOTALL)
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


ffi = FFI()
for path in HEADERS:
    ffi.cdef(declarations(path.read_text()))
ffi.set_source(
    "vta._native",
    "\n".join(f'#include "{path.name}"' for path in HEADERS),
    sources=[f"simulator/{path.name}" for path in SOURCES],
    include_dirs=["simulator/include", "simulator"],
    depends=[f"simulator/{path.relative_to(ROOT)}" for path in sorted(ROOT.rglob("*.h"))],
    source_extension=".cpp",
    extra_compile_args=["-std=c++17", "-O3", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-missing-field-initializers"],
)

if __name__ == "__main__":
    ffi.compile(verbose=True)
