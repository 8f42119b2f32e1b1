"""Object files linked into one shared library, by whatever linker is there."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from vta.errors import CompileError
from vta.files.cache import Arrays, code_digest, remembered
from vta.host.processors import Architecture

__all__ = ["INSTALL", "has_ziglang", "link_library"]

_EMULATIONS = {"x86_64": "elf_x86_64", "aarch64": "aarch64linux", "armv7": "armelf_linux_eabi"}
_COMPILERS = {"x86_64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc", "armv7": "arm-linux-gnueabihf-gcc"}
# What loads the library finds symbols by the older table of hashes, whose length says how many there are.
_FLAGS = ("--hash-style=sysv", "--build-id=none", "-z", "noexecstack", "-z", "now", "-s")
_LIMIT_SECONDS = 120
INSTALL = "pip install 'vta[cross]' brings one"


def link_library(objects: Sequence[bytes], architecture: Architecture) -> bytes:
    """A shared library of object files for one kind of processor. It needs no other, not even one of C.

    It comes from the cache where the same were linked before.

    Raises `CompileError` if there is no linker, saying how to get one, or if the linker fails.
    """
    linker = _linker(architecture)
    digests = [hashlib.sha256(code).digest() for code in objects]
    key = b"\n".join((repr(linker).encode(), code_digest(Path(__file__)), *digests))

    def make() -> Arrays:
        return {"code": np.frombuffer(_linked(objects, architecture, linker), np.uint8)}

    return remembered("linked-kernels", key, make)["code"].tobytes()


def _linked(objects: Sequence[bytes], architecture: Architecture, linker: Sequence[str]) -> bytes:
    # They take a while to import, and most libraries are kept.
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory(prefix="vta-link-") as folder:
        paths = [Path(folder, f"{at}.o") for at in range(len(objects))]
        for path, code in zip(paths, objects, strict=True):
            path.write_bytes(code)
        result = Path(folder, "library.so")
        # A file of arguments, for there may be hundreds.
        Path(folder, "objects").write_text("\n".join(map(str, paths)))
        command = [*linker, "-o", str(result), f"@{folder}/objects"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompileError(f"linking for {architecture.name}: {command[0]}: {error}") from None
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise CompileError(f"linking for {architecture.name}: {command[0]}: {lines[0]}")
        return result.read_bytes()


def has_ziglang() -> bool:
    """Whether the package ziglang is installed: a compiler and linker for every processor."""
    return importlib.util.find_spec("ziglang") is not None


def _zig() -> list[str]:
    """The command of ziglang: its program itself, where that is found, without a Python to start it."""
    spec = importlib.util.find_spec("ziglang")
    program = None if spec is None or spec.origin is None else shutil.which("zig", path=str(Path(spec.origin).parent))
    return [sys.executable, "-m", "ziglang"] if program is None else [program]


def _linker(architecture: Architecture) -> list[str]:
    """The command that links, up to its files."""
    found = next(_linkers(architecture), None)
    if found is None:
        raise CompileError(
            f"nothing here links for {architecture.name}: looked for ld.lld, the package ziglang, and "
            f"{_COMPILERS[architecture.name]}; {INSTALL}"
        )
    return found


def _linkers(architecture: Architecture) -> Iterator[list[str]]:
    lld = ["-shared", "-m", _EMULATIONS[architecture.name], *_FLAGS]
    if shutil.which("ld.lld"):
        yield ["ld.lld", *lld]
    if has_ziglang():
        yield [*_zig(), "ld.lld", *lld]
    names = [_COMPILERS[architecture.name]]
    if platform.machine() == architecture.machine:
        names.append("cc")
    through = [f"-Wl,{flag}" for flag in _FLAGS[:2]] + ["-Wl,-z,noexecstack", "-Wl,-z,now", "-s"]
    yield from ([name, "-shared", "-nostdlib", *through] for name in names if shutil.which(name))
