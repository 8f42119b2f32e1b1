"""From an OpenCL platform and a kernel, as source or as a binary, to a program on a device."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from vta.config.hardware import HardwareConfig
from vta.errors import DeviceError
from vta.files.cache import is_writable, process_directory
from vta.hardware.opencl.state import sram_bytes

__all__ = ["KERNEL_NAME", "Place", "build_options", "find_place", "kernel_source", "opencl", "prepare"]

KERNEL_NAME = "vta_run"

_SOURCE_SUFFIX = ".cl"
_FPGA = "fpga"
_INCLUDE = re.compile(rb'#include "(\w+\.h)"')
_LOG_LINES = 20
_KEPT = 32
"""Programs that a process keeps."""
_MACROS = (
    "LOG_INP_WIDTH",
    "LOG_WGT_WIDTH",
    "LOG_ACC_WIDTH",
    "LOG_BATCH",
    "LOG_BLOCK",
    "LOG_UOP_BUFF_SIZE",
    "LOG_INP_BUFF_SIZE",
    "LOG_WGT_BUFF_SIZE",
    "LOG_ACC_BUFF_SIZE",
)


@dataclass(frozen=True)
class Place:
    """Where a program runs. The handles are those of pyopencl."""

    platform: str
    device: Any
    context: Any


def opencl() -> ModuleType:
    """The package pyopencl. Raises `DeviceError` that says how to install it."""
    _find_room_for_caches()
    try:
        import pyopencl
    except ImportError as error:
        raise DeviceError(f"OpenCL needs the package pyopencl ({error}): pip install 'vta[opencl]'") from None
    module: ModuleType = pyopencl
    return module


def _find_room_for_caches() -> None:
    """Where nothing can be kept pocl finds no device, and pyopencl complains: a directory of this process, and no cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME") or tempfile.gettempdir(), ".cache")
    if not is_writable(Path(base) / "pocl"):
        os.environ.setdefault("POCL_CACHE_DIR", str(process_directory("pocl")))
        os.environ.setdefault("PYOPENCL_NO_CACHE", "1")


def kernel_source() -> Path:
    """The kernel that comes with this package."""
    return Path(__file__).with_name("vta.cl")


def build_options(hw: HardwareConfig) -> list[str]:
    """The macros with the geometry of `hw`, for any compiler of OpenCL C, e.g. ``-DVTA_LOG_BLOCK=4``."""
    values = hw.to_json()
    return [f"-DVTA_{name}={values[name]}" for name in _MACROS]


def find_place(kernel: Path, platform: str = "") -> Place:
    """Open the first device of the platform whose name contains `platform`, in upper or lower case.

    Without `platform`: for source the first device that compiles, for a binary the first platform for FPGAs. Raises
    `DeviceError` naming the platforms that there are.
    """
    cl = opencl()
    try:
        found = [(item, device) for item in cl.get_platforms() for device in item.get_devices()]
    except cl.Error as error:
        raise DeviceError(f"no OpenCL platform answers: {error}; pocl-binary-distribution is one for CPUs") from None
    for item, device in found:
        if platform:
            fits = platform.lower() in item.name.lower()
        elif kernel.suffix == _SOURCE_SUFFIX:
            fits = bool(device.compiler_available)
        else:
            fits = _FPGA in item.name.lower()
        if fits:
            return Place(item.name, device, cl.Context([device]))
    names = ", ".join(dict.fromkeys(item.name for item, _ in found)) or "none"
    wanted = f"called {platform!r}" if platform else "that compiles" if kernel.suffix == _SOURCE_SUFFIX else "for FPGAs"
    raise DeviceError(f"no OpenCL platform {wanted}; there are: {names}")


def prepare(kernel: Path, hw: HardwareConfig, platform: str = "", local: bool | None = None) -> tuple[Place, Any]:
    """Find a place for the kernel in a file, and build it: source (.cl) for the geometry of `hw`, or a binary.

    On-chip memory of source is local memory if `local` says so; by default on accelerators alone. What was built before
    is used again. Raises `DeviceError` with what the compiler said.
    """
    try:
        content = kernel.read_bytes()
        if kernel.suffix == _SOURCE_SUFFIX:
            content = _whole(kernel, content)
    except OSError as error:
        raise DeviceError(f"{error.filename}: {error.strerror}") from None
    return _prepared(kernel, content, hw, platform, local)


@lru_cache(maxsize=_KEPT)
def _prepared(kernel: Path, content: bytes, hw: HardwareConfig, platform: str, local: bool | None) -> tuple[Place, Any]:
    cl = opencl()
    place = find_place(kernel, platform)
    try:
        if kernel.suffix != _SOURCE_SUFFIX:
            return place, _built(cl.Program(place.context, [place.device], [content]), [])
        options = [*build_options(hw), *_memory_option(place, hw, local)]
        return place, _built(cl.Program(place.context, content.decode()), options)
    except (cl.Error, UnicodeDecodeError) as error:
        raise DeviceError(f"{kernel}: cannot be built for {place.device.name.strip()}: {_shortened(str(error))}") from None


def _whole(kernel: Path, content: bytes) -> bytes:
    """Source with what it includes, from beside it or from this package, in its place.

    Caches of compilers need not notice that a header has changed, and options with paths do not work for all paths.
    """
    lines = []
    for number, line in enumerate(content.split(b"\n"), 1):
        match = _INCLUDE.fullmatch(line)
        if match is None:
            lines.append(line)
            continue
        name = match[1].decode()
        beside = kernel.with_name(name)
        part = beside if beside.exists() else kernel_source().with_name(name)
        lines += [b'#line 1 "%s"' % match[1], part.read_bytes(), b'#line %d "%s"' % (number + 1, kernel.name.encode())]
    return b"\n".join(lines)


def _memory_option(place: Place, hw: HardwareConfig, local: bool | None) -> list[str]:
    if local is None:
        local = bool(place.device.type & opencl().device_type.ACCELERATOR)
    if not local:
        return []
    needed, there = sram_bytes(hw), int(place.device.local_mem_size)
    if needed > there:
        raise DeviceError(f"the on-chip memories take {needed} bytes; the local memory of {place.device.name} has {there}")
    return ["-DVTA_SRAM_LOCAL"]


def _built(program: Any, options: Sequence[str]) -> Any:
    with warnings.catch_warnings():
        # Remarks of a compiler that succeeded are no concern of who runs a network.
        warnings.simplefilter("ignore", opencl().CompilerWarning)
        return program.build(options=list(options))


def _shortened(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join([*lines[:_LOG_LINES], *(["..."] if len(lines) > _LOG_LINES else [])])
