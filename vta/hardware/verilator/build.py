"""Compiles Verilog of the core, with the harness around it, to a shared library; keeps libraries in a cache."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vta.errors import DeviceError
from vta.files.atomic_file import write_whole
from vta.files.cache import cache_directory, is_writable, process_directory
from vta.hardware.verilator.toolchain import Verilator, compiler, find_verilator, require_fst_headers
from vta.support.on_cores import usable_cores

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

_LOG = logging.getLogger(__name__)


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
    want the same library wait for each other. A library that is not what was built there is built again; where nothing can be
    kept, it lasts as long as this process. Raises `DeviceError` if a tool is missing or the compilation fails.
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
    kept = _kept()
    if kept is not None and _is_whole(kept / f"{digest}.so"):
        return kept / f"{digest}.so"
    library = _cache() / f"{digest}.so"
    if library.is_dir():
        library = process_directory("rtl") / library.name
    with _locked(library.with_suffix(".lock")):
        if not _is_whole(library):
            if library.exists():
                _LOG.warning("%s is damaged; it is built again", library)
            build_library(make(), library)
            write_whole(_sum_of(library), _checksum(library))
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
        try:
            _link([*objects, *_runtime(verilator, core.trace)], output, core.trace)
        except DeviceError:
            # Perhaps the kept objects are not what was compiled.
            _link([*objects, *_runtime(verilator, core.trace, anew=True)], output, core.trace)
        os.replace(output, library)


def _link(objects: list[str], output: Path, trace: str) -> None:
    command = [compiler(), "-shared", "-Wl,-Bsymbolic", "-o", str(output), *objects, *_LIBRARIES[trace], "-pthread"]
    _run(command, output.parent, "the linker")


def _sum_of(library: Path) -> Path:
    return library.with_suffix(".sum")


def _checksum(library: Path) -> str:
    return hashlib.sha256(library.read_bytes()).hexdigest()


def _is_whole(library: Path) -> bool:
    """Whether a kept library is what was built: a part of one takes the process down that opens it."""
    try:
        return library.is_file() and _sum_of(library).read_bytes() == _checksum(library).encode()
    except OSError:
        return False


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Without the lock two processes only do the same twice."""
    try:
        file = path.open("w")
    except OSError:
        yield
        return
    with file:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _verilate(verilator: Verilator, core: Core, directory: Path) -> None:
    trace = {"none": (), "vcd": ("--trace",), "fst": ("--trace-fst",)}[core.trace]
    split = ("--output-split", _SPLIT_STATEMENTS, "--output-split-cfuncs", _SPLIT_STATEMENTS)
    command = [str(verilator.command), *_VERILATE, *_QUIET, *split, *trace, "--Mdir", "model", "vta.v"]
    _run(command, directory, "Verilator", {"VERILATOR_ROOT": str(verilator.root)})


def _compile_all(verilator: Verilator, core: Core, directory: Path) -> list[str]:
    """Compile model and harness, as many files at once as there are processors; returns the objects."""
    sources = sorted((directory / "model").glob("*.cpp"), key=lambda path: -path.stat().st_size)
    small = [path for path in sources if path.stat().st_size < _SMALL_BYTES]
    # Each file costs a second for the headers alone, so small ones are compiled together.
    joined = directory / "joined.cpp"
    joined.write_text("".join(f'#include "{path}"\n' for path in [*small, _HERE / "harness.cc"]), encoding="utf-8")
    flags = [*_flags(verilator, core.trace), f"-DVTA_BUS_BYTES={core.bus_bytes}", "-Imodel", f"-I{_HERE}"]
    jobs = [(path, directory / f"{path.stem}.o") for path in [*sources, joined] if path not in small]
    _compile(flags, jobs, directory)
    return [str(target) for _, target in jobs]


def _runtime(verilator: Verilator, trace: str, anew: bool = False) -> list[str]:
    """The objects of Verilator's own runtime, which all cores share; compiled once, or `anew`."""
    flags = _flags(verilator, trace)
    digest = hashlib.sha256("\0".join([verilator.version, compiler(), *flags]).encode()).hexdigest()[:24]
    directory = _cache() / f"runtime-{digest}"
    sources = [verilator.root / "include" / name for name in ("verilated.cpp", "verilated_threads.cpp", *_RUNTIME[trace])]
    objects = [directory / f"{source.name}.o" for source in sources]
    with _locked(_cache() / f"runtime-{digest}.lock"):
        if anew or not all(path.is_file() for path in objects):
            with tempfile.TemporaryDirectory(prefix="build-", dir=_cache()) as name:
                built = Path(name) / "objects"
                built.mkdir()
                _compile(flags, [(source, built / f"{source.name}.o") for source in sources], built)
                if os.path.lexists(directory):
                    directory.rename(Path(name) / "before")
                built.rename(directory)
    return [str(path) for path in objects]


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

    with ThreadPoolExecutor(usable_cores()) as pool:
        list(pool.map(compile_one, jobs))


def _kept() -> Path | None:
    """Where libraries are kept for later processes."""
    base = cache_directory()
    return None if base is None else base / "rtl"


def _cache() -> Path:
    """Where to build: the directory of what is kept, or where that cannot be written to, one that goes with this process."""
    kept = _kept()
    if kept is not None and is_writable(kept):
        return kept
    _LOG.info("%s cannot be written to: what is built goes with this process", kept)
    return process_directory("rtl")


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
