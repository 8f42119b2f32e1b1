"""Builds `vta-run` from the sources that come with the package, for this machine or another."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vta.errors import CompileError, WriteError
from vta.files.atomic_file import whole_file
from vta.host.llvm.link import INSTALL, has_ziglang
from vta.host.llvm.target import host_target
from vta.host.processors import CpuTarget
from vta.support.dataclass import dataclass
from vta.support.on_cores import usable_cores

__all__ = ["BuiltProgram", "build_vta_run", "native_sources"]

_FOLDERS = ("runtime", "functional", "isa", "kernels", "host", "command")
"""Of the native sources, those that the program is made of."""
_FLAGS = ("-std=c++17", "-O2", "-pthread", "-Wall", "-Wextra", "-Wno-missing-field-initializers")
_COMPILERS = {"x86_64": "x86_64-linux-gnu-g++", "aarch64": "aarch64-linux-gnu-g++", "armv7": "arm-linux-gnueabihf-g++"}
_ZIG_TRIPLES = {"x86_64": "x86_64-linux-musl", "aarch64": "aarch64-linux-musl", "armv7": "arm-linux-musleabihf"}
_PROCESSORS = {"armv7": ("-march=armv7-a", "-mfpu=neon")}
"""What a compiler of GNU's is told of processors, where its default may be another."""
_ZIG_PROCESSORS = {"armv7": ("-mcpu=cortex_a8",)}
_LIMIT_SECONDS = 1800


@dataclass(frozen=True)
class BuiltProgram:
    """What was built."""

    path: Path
    triple: str
    compiler: str


@dataclass(frozen=True)
class _Compiler:
    name: str
    command: tuple[str, ...]
    """Up to its files."""
    static: bool


def native_sources() -> Path:
    """The folder of the native sources. Raises `CompileError` if the installation lacks them."""
    package = Path(__file__).resolve().parents[2]
    # A wheel carries the files inside the package; in a source tree they lie beside it.
    for folder in (package / "native_sources", package.parent / "native"):
        if (folder / "include" / "vta_runtime.h").is_file():
            return folder
    raise CompileError(f"the installation of vta in {package} lacks its native sources; install it again")


def build_vta_run(directory: Path, target: CpuTarget | None = None) -> BuiltProgram:
    """Build the program into `directory`, by default for this machine.

    For others it is linked statically, so that it needs nothing of the machine that it runs on. Raises `CompileError` if there
    is no compiler, saying how to get one, or with its first complaint, and `WriteError` if the file cannot be written.
    """
    compiler = _compiler(target)
    sources = native_sources()
    units = sorted(path for folder in _FOLDERS for path in (sources / folder).rglob("*.cc"))
    includes = (f"-I{sources}", f"-I{sources / 'include'}")
    path = directory / "vta-run"
    with tempfile.TemporaryDirectory(prefix="vta-run-") as folder:
        objects = [Path(folder, f"{at}.o") for at in range(len(units))]

        def compile_unit(unit: Path, made: Path) -> None:
            _call([*compiler.command, *_FLAGS, *includes, "-c", str(unit), "-o", str(made)])

        with ThreadPoolExecutor(usable_cores()) as pool:
            list(pool.map(compile_unit, units, objects))
        program = Path(folder, "vta-run")
        static = ("-static",) if compiler.static else ()
        _call([*compiler.command, "-pthread", "-s", *static, *map(str, objects), "-o", str(program)])
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WriteError(f"{directory}: cannot be made: {error.strerror}") from None
        with whole_file(path, "the program") as beside:
            shutil.copyfile(program, beside)
            os.chmod(beside, 0o755)
    return BuiltProgram(path, (target or host_target()).triple, compiler.name)


def _compiler(target: CpuTarget | None) -> _Compiler:
    architecture = (target or host_target()).architecture
    here = platform.machine() == architecture.machine
    names = [*(("c++", "g++", "clang++") if here else ()), _COMPILERS[architecture.name]]
    for name in names:
        if shutil.which(name):
            return _Compiler(name, (name, *_PROCESSORS.get(architecture.name, ())), static=not here)
    if has_ziglang():
        triple = _ZIG_TRIPLES[architecture.name]
        words = (sys.executable, "-m", "ziglang", "c++", "-target", triple, *_ZIG_PROCESSORS.get(architecture.name, ()))
        return _Compiler("zig c++", words, static=True)
    raise CompileError(
        f"nothing here compiles C++ for {architecture.name}: looked for {', '.join(names)} and the package ziglang; {INSTALL}"
    )


def _call(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(f"building vta-run: {command[0]}: {error}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"status {done.returncode}"]
        raise CompileError(f"building vta-run: {command[0]}: {lines[0]}")
