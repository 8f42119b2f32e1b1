"""Describes `vta._core`, the C++ core of the package: its sources, and its plain C declarations for cffi.

The core is a plain shared library that cffi opens at run time, so that building it takes a C++ compiler and no Python headers.
"""

from __future__ import annotations

import re
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parent
HEADERS = sorted((ROOT / "include").glob("*.h"))
PROGRAMS = ROOT / "command"
"""Main functions of programs, which are no part of the library."""
SOURCES = [f"native/{path.relative_to(ROOT)}" for path in sorted(ROOT.rglob("*.cc")) if PROGRAMS not in path.parents]
DEPENDS = [f"native/{path.relative_to(ROOT)}" for path in sorted(ROOT.rglob("*.h"))]
INCLUDES = ["native/include", "native"]
# Products are rounded before they are added, unless the code says fma, so that results do not depend on the processor.
FLAGS = ["-std=c++17", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Wno-missing-field-initializers"]


def declarations(header: str) -> str:
    """Return the C declarations of a header, without preprocessor lines, comments and linkage blocks."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.DOTALL)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.DOTALL)
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def write_declarations(path: Path) -> None:
    """Write the Python module at `path` that declares the functions of the core to cffi."""
    ffi = FFI()
    for header in HEADERS:
        ffi.cdef(declarations(header.read_text()))
    ffi.set_source("vta._core_declarations", None)
    ffi.emit_python_code(str(path))
