"""A Verilated core in this process: opens its library and wraps the C interface of harness.h."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vta.config.timing import TimingParameters
from vta.errors import DeviceError

__all__ = ["Observed", "Stalls", "VerilatedCore"]

_ABI = 2
_MORE, _DONE = 0, 1
_HANDLE = ctypes.c_void_p
_U64 = ctypes.c_uint64


@dataclass(frozen=True)
class Stalls:
    """Handshakes that the memory withholds: timing is lost, data must stay right."""

    permille: int = 0
    """Probability of each, in thousandths, 0 to 999."""
    seed: int = 0


@dataclass(frozen=True)
class Observed:
    """What the harness saw since the last `VerilatedCore.forget`. Cycles count from the reset; 0: it has not happened."""

    cycles: int
    first_request: int
    """First cycle in which the core presented a read request."""
    interrupt: int
    """First cycle in which the interrupt was up."""
    last_read_beat: int
    last_write_beat: int
    last_response: int
    read_bursts: int
    read_beats: int
    write_bursts: int
    write_beats: int
    write_bytes: int
    """Bytes whose strobe was set."""


class _Memory(ctypes.Structure):
    _fields_ = [
        (name, _U64) for name in ("read_latency", "write_latency", "beat_interval", "burst_beats", "stall_permille", "stall_seed")
    ]


class _Observed(ctypes.Structure):
    _fields_ = [(field.name, _U64) for field in fields(Observed)]


class VerilatedCore:
    """One instance of the core of `library`, with `memory`, shape (bytes,) of uint8, behind its AXI master.

    Not for several threads at once. Raises `DeviceError` if the library does not open or is of another version.
    """

    def __init__(self, library: Path, memory: NDArray[np.uint8], timing: TimingParameters, stalls: Stalls | None = None) -> None:
        stalls = stalls or Stalls()
        if not 0 <= stalls.permille < 1000:
            raise DeviceError(f"stalls of {stalls.permille} per mille; allowed: 0 to 999")
        self._lib = _open(library)
        self._memory = memory
        model = _Memory(
            timing.read_latency,
            timing.write_latency,
            timing.beat_interval,
            timing.burst_beats,
            stalls.permille,
            stalls.seed % (1 << 64),
        )
        self._handle = _HANDLE(self._lib.vta_rtl_create(memory.ctypes.data, memory.size, ctypes.byref(model)))
        if not self._handle:
            raise DeviceError("the simulation of the core could not start")

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Free the instance; only closing again is possible after that."""
        handle, self._handle = getattr(self, "_handle", None), _HANDLE()
        if handle:
            self._lib.vta_rtl_destroy(handle)

    def reset(self) -> None:
        """Reset the core and the observations."""
        self._check(self._lib.vta_rtl_reset(self._open_handle()))

    def trace(self, path: Path | None) -> None:
        """Record all signals to `path` from now on; None ends it. The library must have been built for that."""
        self._check(self._lib.vta_rtl_trace(self._open_handle(), None if path is None else str(path).encode()))

    def write(self, offset: int, value: int) -> None:
        """Write a 32-bit register."""
        self._check(self._lib.vta_rtl_write(self._open_handle(), offset, value))

    def read(self, offset: int) -> int:
        """Read a 32-bit register."""
        value = ctypes.c_uint32()
        self._check(self._lib.vta_rtl_read(self._open_handle(), offset, ctypes.byref(value)))
        return value.value

    def run(self, cycles: int) -> bool:
        """Run for up to `cycles`; returns True as soon as the interrupt is up.

        Raises `DeviceError` if the core breaks the bus protocol or leaves the memory.
        """
        return self._check(self._lib.vta_rtl_run(self._open_handle(), cycles)) == _DONE

    def observed(self) -> Observed:
        """What happened since the last `forget`, or since the reset."""
        seen = _Observed()
        self._lib.vta_rtl_observe(self._open_handle(), ctypes.byref(seen))
        return Observed(*(getattr(seen, field.name) for field in fields(Observed)))

    def forget(self) -> None:
        """Observe anew from here on; cycles go on counting from the reset."""
        self._lib.vta_rtl_forget(self._open_handle())

    def _open_handle(self) -> ctypes.c_void_p:
        if not self._handle:
            raise DeviceError("the simulation of the core is closed")
        return self._handle

    def _check(self, status: int) -> int:
        if status not in (_MORE, _DONE):
            raise DeviceError(self._lib.vta_rtl_error(self._handle).decode())
        return status


def _open(library: Path) -> ctypes.CDLL:
    try:
        lib = ctypes.CDLL(str(library))
        version = lib.vta_rtl_abi()
    except (OSError, AttributeError) as error:
        raise DeviceError(f"{library}: not a library of a core: {error}") from None
    if version != _ABI:
        raise DeviceError(f"{library}: version {version} of the interface; expected {_ABI}")
    lib.vta_rtl_create.restype = _HANDLE
    lib.vta_rtl_create.argtypes = [_HANDLE, _U64, ctypes.POINTER(_Memory)]
    lib.vta_rtl_destroy.argtypes = [_HANDLE]
    lib.vta_rtl_destroy.restype = None
    lib.vta_rtl_reset.argtypes = [_HANDLE]
    lib.vta_rtl_trace.argtypes = [_HANDLE, ctypes.c_char_p]
    lib.vta_rtl_write.argtypes = [_HANDLE, ctypes.c_uint32, ctypes.c_uint32]
    lib.vta_rtl_read.argtypes = [_HANDLE, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32)]
    lib.vta_rtl_run.argtypes = [_HANDLE, _U64]
    lib.vta_rtl_observe.argtypes = [_HANDLE, ctypes.POINTER(_Observed)]
    lib.vta_rtl_observe.restype = None
    lib.vta_rtl_forget.argtypes = [_HANDLE]
    lib.vta_rtl_forget.restype = None
    lib.vta_rtl_error.argtypes = [_HANDLE]
    lib.vta_rtl_error.restype = ctypes.c_char_p
    return lib
