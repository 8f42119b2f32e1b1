"""Compiles Verilog of the core, with the harness around it, to a shared library; keeps libraries in a cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vta.errors import DeviceError
from vta.hardware.verilator.toolchain import Verilator, compiler, find_verilator

__all__ = ["TRACES", "Core", "build_library", "cache_directory", "cached_library"]

TRACES = ("none", "vcd", "fst")
"""What a library can record."""

_HERE = Path(__file__).parent
_HARNESS = ("harness.cc", "harness.h", "memory_model.h")
_TOP = "vta"
_SPLIT_STATEMENTS = "4000"
_VERILATE = ("--cc", "--top-module", _TOP, "--prefix", f"V{_TOP}", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert")
_QUIET = ("-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-MULTIDRIVEN", "-Wno-UNOPTFLAT")
_COMPILE = ("-std=c++20", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-w", "-DVL_TIME_CONTEXT", "-DVL_IGNORE_UNKNOWN_ARCH")
_RUNTIME = {"none": (), "vcd": ("verilated_vcd_c.cpp",), "fst": ("verilated_fst_c.cpp",)}
_LIBRARIES = {"none": (), "vcd": (), "fst": ("-lz", "-llz4")}
_MESSAGE_LINES = 20


@dataclass(frozen=True)
class Core:
    """What to compile."""

    verilog: str
    """Source with the top module ``vta`` and the ports that the harness drives."""
    bus_bytes: int
    """Width of the memory bus."""
    trace: str = "none"
    """One of `TRACES`."""


def cache_directory() -> Path:
    """Directory of the compiled libraries: VTA_CACHE_PATH, or ``vta`` in the user's cache directory."""
    given = os.environ.get("VTA_CACHE_PATH")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vta"


def cached_library(key: Sequence[str], make: Callable[[], Core], trace: str = "none") -> Path:
    """Return the library for `key`, calling `make` and compiling only if it is not in the cache.

    `key` must name everything that the Verilog follows from; the harness and the tools are added to it. Two processes that
    want the same library wait for each other. Raises `DeviceError` if a tool is missing or the compilation fails.
    """
    verilator = find_verilator()
    parts = [*key, trace, verilator.version, compiler(), *_VERILATE, *_COMPILE, *((_HERE / name).read_text() for name in _HARNESS)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    directory = cache_directory() / "rtl"
    directory.mkdir(parents=True, exist_ok=True)
    library = directory / f"{digest}.so"
    if library.is_file():
        return library
    with _locked(directory / f"{digest}.lock"):
        if not library.is_file():
            build_library(make(), library)
    return library


def build_library(core: Core, library: Path) -> None:
    """Compile `core` to the shared library `library`, which appears there only once it is complete.

    Raises `DeviceError` with the tool's message if that fails.
    """
    if core.trace not in TRACES:
        raise DeviceError(f"trace {core.trace!r} is unknown; allowed: {', '.join(TRACES)}")
    verilator = find_verilator()
    with tempfile.TemporaryDirectory(prefix="build-", dir=library.parent) as name:
        directory = Path(name)
        (directory / "vta.v").write_text(core.verilog, encoding="utf-8")
        _verilate(verilator, core, directory)
        objects = _compile_all(verilator, core, directory)
        output = directory / "core.so"
        link = [compiler(), "-shared", "-Wl,-Bsymbolic", "-o", str(output), *objects, *_LIBRARIES[core.trace], "-pthread"]
        _run(link, directory, "the linker")
        os.replace(output, library)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _verilate(verilator: Verilator, core: Core, directory: Path) -> None:
    trace = {"none": (), "vcd": ("--trace",), "fst": ("--trace-fst",)}[core.trace]
    split = ("--output-split", _SPLIT_STATEMENTS, "--output-split-cfuncs", _SPLIT_STATEMENTS)
    command = [str(verilator.command), *_VERILATE, *_QUIET, *split, *trace, "--Mdir", "model", "vta.v"]
    _run(command, directory, "Verilator", {"VERILATOR_ROOT": str(verilator.root)})


def _compile_all(verilator: Verilator, core: Core, directory: Path) -> list[str]:
    """Compile model, runtime and harness, as many files at once as there are processors."""
    include = verilator.root / "include"
    defines = [f"-DVTA_BUS_BYTES={core.bus_bytes}", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0"]
    defines += [f"-DVM_TRACE={int(core.trace != 'none')}", f"-DVM_TRACE_VCD={int(core.trace == 'vcd')}"]
    defines += [f"-DVM_TRACE_FST={int(core.trace == 'fst')}"]
    common = [compiler(), *_COMPILE, *defines, "-Imodel", f"-I{include}", f"-I{include / 'vltstd'}", f"-I{_HERE}", "-c"]
    runtime = [include / name for name in ("verilated.cpp", "verilated_threads.cpp", *_RUNTIME[core.trace])]
    sources = [*sorted((directory / "model").glob("*.cpp")), *runtime, _HERE / "harness.cc"]
    # The largest files first, so that none is left over at the end.
    sources.sort(key=lambda path: -path.stat().st_size)

    def compile_one(source: Path) -> str:
        # Files called Slow run once, at start.
        level = "-O0" if "__Slow" in source.name or "__Syms" in source.name else "-O2"
        target = f"{source.stem}.o"
        _run([*common, level, "-o", target, str(source)], directory, "the C++ compiler")
        return target

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(compile_one, sources))


def _run(command: list[str], directory: Path, what: str, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=directory, env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise DeviceError("\n".join([f"{what} failed on the core:", *lines[:_MESSAGE_LINES]]))
