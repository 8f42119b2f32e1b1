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

from vta.cache import cache_directory
from vta.errors import DeviceError
from vta.hardware.verilator.toolchain import Verilator, compiler, find_verilator, require_fst_headers

__all__ = ["TRACES", "Core", "build_library", "cached_library"]

TRACES = ("none", "vcd", "fst")
"""What a library can record."""

_HERE = Path(__file__).parent
_HARNESS = ("harness.cc", "harness.h", "memory_model.h")
_TOP = "vta"
_SPLIT_STATEMENTS = "20000"
_SMALL_BYTES = 16384
_VERILATE = (
    "--cc",
    "--top-module",
    _TOP,
    "--prefix",
    f"V{_TOP}",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--noassert",
)
_QUIET = ("-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-MULTIDRIVEN", "-Wno-UNOPTFLAT")
_COMPILE = ("-std=c++20", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-w", "-DVL_TIME_CONTEXT")
_RUNTIME = {"none": (), "vcd": ("verilated_vcd_c.cpp",), "fst": ("verilated_fst_c.cpp",)}
_LIBRARIES = {"none": (), "vcd": (), "fst": ("-lz", "-llz4")}
_MESSAGE_LINES = 20
_TOOL_SECONDS = 3600


@dataclass(frozen=True)
class Core:
    """What to compile."""

    verilog: str
    """Source with the top module ``vta`` and the ports that the harness drives."""
    bus_bytes: int
    """Width of the memory bus."""
    trace: str = "none"
    """One of `TRACES`."""


def cached_library(key: Sequence[str], make: Callable[[], Core], trace: str = "none") -> Path:
    """Return the library for `key`, calling `make` and compiling only if it is not in the cache.

    `key` must name everything that the Verilog follows from; the harness and the tools are added to it. Two processes that
    want the same library wait for each other. Raises `DeviceError` if a tool is missing or the compilation fails.
    """
    verilator = find_verilator()
    if trace == "fst":
        require_fst_headers()
    parts = [
        *key,
        trace,
        verilator.version,
        compiler(),
        *_VERILATE,
        *_COMPILE,
        *((_HERE / name).read_text() for name in _HARNESS),
    ]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    directory = _cache()
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
    """Compile model and harness, as many files at once as there are processors; returns these objects and the runtime's."""
    sources = sorted((directory / "model").glob("*.cpp"), key=lambda path: -path.stat().st_size)
    small = [path for path in sources if path.stat().st_size < _SMALL_BYTES]
    # Each file costs a second for the headers alone, so small ones are compiled together.
    joined = directory / "joined.cpp"
    joined.write_text("".join(f'#include "{path}"\n' for path in [*small, _HERE / "harness.cc"]), encoding="utf-8")
    flags = [*_flags(verilator, core.trace), f"-DVTA_BUS_BYTES={core.bus_bytes}", "-Imodel", f"-I{_HERE}"]
    jobs = [(path, directory / f"{path.stem}.o") for path in [*sources, joined] if path not in small]
    _compile(flags, jobs, directory)
    return [str(target) for _, target in jobs] + _runtime(verilator, core.trace)


def _runtime(verilator: Verilator, trace: str) -> list[str]:
    """The objects of Verilator's own runtime, which all cores share; compiled once."""
    flags = _flags(verilator, trace)
    digest = hashlib.sha256("\0".join([verilator.version, compiler(), *flags]).encode()).hexdigest()[:24]
    directory = _cache() / f"runtime-{digest}"
    names = ("verilated.cpp", "verilated_threads.cpp", *_RUNTIME[trace])
    with _locked(_cache() / f"runtime-{digest}.lock"):
        if not directory.is_dir():
            with tempfile.TemporaryDirectory(prefix="build-", dir=_cache()) as name:
                built = Path(name) / "objects"
                built.mkdir()
                jobs = [(verilator.root / "include" / source, built / f"{source}.o") for source in names]
                _compile(flags, jobs, built)
                built.rename(directory)
    return [str(directory / f"{source}.o") for source in names]


def _flags(verilator: Verilator, trace: str) -> list[str]:
    values = {"COVERAGE": 0, "SC": 0, "TIMING": 0}
    values.update(TRACE=int(trace != "none"), TRACE_VCD=int(trace == "vcd"), TRACE_FST=int(trace == "fst"))
    defines = [f"-DVM_{name}={value}" for name, value in values.items()]
    include = verilator.root / "include"
    return [*_COMPILE, *defines, f"-I{include}", f"-I{include / 'vltstd'}"]


def _compile(flags: list[str], jobs: list[tuple[Path, Path]], directory: Path) -> None:
    """Compile each source to its object; the first error stops."""

    def compile_one(job: tuple[Path, Path]) -> None:
        # Files called Slow run once, at start.
        level = "-O0" if "__Slow" in job[0].name else "-O2"
        _run([compiler(), *flags, level, "-c", "-o", str(job[1]), str(job[0])], directory, "the C++ compiler")

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(compile_one, jobs))


def _cache() -> Path:
    directory = cache_directory() / "rtl"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _run(command: list[str], directory: Path, what: str, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=_TOOL_SECONDS,
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise DeviceError("\n".join([f"{what} failed on the core:", *lines[:_MESSAGE_LINES]]))
