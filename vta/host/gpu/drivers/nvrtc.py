"""NVIDIA's run-time compiler, found where a toolkit or a package of Python has put it."""

from __future__ import annotations

import ctypes
import os
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from vta.errors import CompileError, DeviceError

__all__ = ["compile_cuda", "find_nvrtc", "first_library", "nvrtc_version"]

_NAMES = ("libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2")
_MISSING = "NVIDIA's compiler NVRTC is missing: pip install 'vta[cuda]', or install the CUDA toolkit and set CUDA_HOME"
_OPTIONS = ("--std=c++17", "--fmad=false", "-default-device")
"""Products and sums are fused where the text says so alone."""


def _candidates() -> Iterator[str]:
    yield from _NAMES
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)] + [Path("/usr/local/cuda")]
    for root in roots:
        yield from map(str, (*root.glob("lib64/libnvrtc.so*"), *root.glob("targets/*/lib/libnvrtc.so*")))
    for key in ("purelib", "platlib"):
        yield from map(str, sorted(Path(sysconfig.get_paths()[key]).glob("nvidia/*/lib/libnvrtc.so.*")))


@cache
def find_nvrtc() -> ctypes.CDLL | None:
    """The library, or None where it is missing."""
    return first_library(_candidates())


def first_library(names: Iterable[str]) -> ctypes.CDLL | None:
    """The first library of some that can be opened, or None."""
    return next((found for name in names if (found := _opened(name)) is not None), None)


def _opened(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _library() -> ctypes.CDLL:
    found = find_nvrtc()
    if found is None:
        raise DeviceError(_MISSING)
    return found


def nvrtc_version() -> tuple[int, int]:
    """Version of the compiler; raises `DeviceError` saying how to get one where it is missing."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def compile_cuda(text: str, architecture: str, to_binary: bool = True, options: Sequence[str] = _OPTIONS) -> bytes:
    """Machine code for an architecture such as ``90``, or its PTX. Raises `CompileError` with what the compiler says."""
    library = _library()
    program = ctypes.c_void_p()
    _check(library, library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None))
    try:
        flags = [f"--gpu-architecture={'sm' if to_binary else 'compute'}_{architecture}", *options]
        values = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
        status = library.nvrtcCompileProgram(program, len(flags), values)
        if status:
            log = _text(library, program, "ProgramLog").decode(errors="replace").strip()
            raise CompileError(f"NVRTC cannot compile a kernel: {log or _reason(library, status)}")
        return _text(library, program, "CUBIN" if to_binary else "PTX")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    content = ctypes.create_string_buffer(max(1, size.value))
    _check(library, getattr(library, f"nvrtcGet{what}")(program, content))
    return content.raw[: size.value]


def _reason(library: ctypes.CDLL, status: int) -> str:
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    found: bytes = library.nvrtcGetErrorString(status)
    return found.decode()


def _check(library: ctypes.CDLL, status: int) -> None:
    if status:
        raise CompileError(f"NVRTC: {_reason(library, status)}")
