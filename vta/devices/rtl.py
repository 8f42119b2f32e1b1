"""Our own hardware as a device: the Verilated core with the memory of the timing contract behind it."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters, timing_of
from vta.devices.core_control import CoreControl
from vta.devices.device import DEFAULT_OPTIONS, Counters, DeviceStatus, RunOptions, RunResult
from vta.devices.engine.memory_pool import MemoryPool
from vta.devices.engine.segments import ends_with_finish, finish, segment_of
from vta.devices.lifecycle import Lifecycle, operation
from vta.devices.static_counters import count_instructions
from vta.errors import DeviceError, TimeLimitError
from vta.hardware.fabric import PLAIN, Fabric
from vta.hardware.sources import hardware_digest
from vta.hardware.verilator.build import Core, cached_library
from vta.hardware.verilator.library import Stalls, VerilatedCore
from vta.hardware.verilator.toolchain import require_amaranth
from vta.isa.encoding import decode

__all__ = ["RtlDevice", "core_library"]

_CHUNK_CYCLES = 1 << 15
"""Between two looks at the clock and at signals: at most some tenths of a second.

A core that does nothing for so long is stuck: a wait for memory lasts a few thousand cycles.
"""

_ADDRESS_SPACE = 1 << 32
_SUFFIXES = {".vcd": "vcd", ".fst": "fst"}


class RtlDevice:
    """Executes instruction streams on the hardware itself, clock by clock, in a Verilator simulation.

    The first device of a config and timing compiles the core, which takes a minute or two; the result is kept in the cache
    directory. `memory_bytes` is the size of the device memory; instruction streams lie in it during a run. `trace` names
    a VCD or FST file for the signals of all runs. With `stalls` the memory withholds handshakes at random: cycles then
    mean nothing. `fabric` says for which FPGA the core is built, and `mapped` that the netlist is run which Yosys makes of it for
    an ECP5; neither changes results or cycles.
    """

    name = "rtl"

    def __init__(
        self,
        hw: HardwareConfig,
        timing: TimingParameters | None = None,
        memory_bytes: int = 1 << 28,
        trace: Path | None = None,
        stalls: Stalls | None = None,
        fabric: Fabric = PLAIN,
        mapped: bool = False,
    ) -> None:
        """Raises `DeviceError` if a tool is missing (it says which), or the core does not build."""
        if memory_bytes > _ADDRESS_SPACE:
            raise DeviceError(f"a memory of {memory_bytes} bytes is more than 32-bit addresses reach")
        if trace is not None and trace.suffix not in _SUFFIXES:
            raise DeviceError(f"{trace}: traces end in {' or '.join(_SUFFIXES)}")
        self.hw = hw
        self._life = Lifecycle(self.name)
        timing = timing or timing_of(hw)
        self.timing: TimingParameters | None = timing
        self._pool = MemoryPool(memory_bytes)
        self._dram = np.zeros(memory_bytes, dtype=np.uint8)
        self._exact = stalls is None or stalls.permille == 0
        library = core_library(hw, timing, "none" if trace is None else _SUFFIXES[trace.suffix], fabric, mapped=mapped)
        self._core = VerilatedCore(library, self._dram, timing, stalls)
        self._control = CoreControl(self._core)
        self._dirty = False
        if trace is not None:
            self._core.trace(trace)

    @property
    def memory_bytes(self) -> int:
        """Size of the device memory."""
        return self._pool.capacity

    def exclusive(self) -> AbstractContextManager[None]:
        """See `Device.exclusive`."""
        return self._life.using()

    @operation
    def allocate(self, nbytes: int) -> int:
        """See `Device.allocate`; raises `DeviceError` with the bytes needed and available if there is no room."""
        return self._pool.allocate(nbytes)

    @operation
    def free(self, address: int) -> None:
        """See `Device.free`."""
        self._pool.free(address)

    @operation
    def write(self, address: int, data: NDArray[np.uint8]) -> None:
        """See `Device.write`."""
        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._pool.check(address, flat.size)
        self._dram[address : address + flat.size] = flat

    @operation
    def read(self, address: int, nbytes: int) -> NDArray[np.uint8]:
        """See `Device.read`."""
        self._pool.check(address, nbytes)
        return self._dram[address : address + nbytes].copy()

    @operation
    def reset(self) -> None:
        """See `Device.reset`. On-chip memory keeps its contents, as in the hardware; tokens are cleared."""
        self._core.reset()
        self._dirty = False

    def status(self) -> DeviceStatus:
        """See `Device.status`."""
        return self._life.status()

    def close(self) -> None:
        """See `Device.close`."""
        with self._life.closing() as was_open:
            if was_open:
                self._core.close()
                self._dram = np.zeros(0, dtype=np.uint8)

    def run(self, stream: NDArray[np.uint8], options: RunOptions = DEFAULT_OPTIONS) -> RunResult:
        """See `Device.run`. A segment that does not end with FINISH gets one, and its cycles count.

        Raises `DeviceError` on a token overflow, a memory access out of bounds, a stream that comes to a halt before its end,
        the time limit, or counters that contradict what was seen on the bus. Can be interrupted with Ctrl-C.
        """
        with self._life.run():
            return self._run(stream, options)

    def _run(self, stream: NDArray[np.uint8], options: RunOptions) -> RunResult:
        given = segment_of(stream, options)
        code = given if ends_with_finish(given) else np.concatenate([given, finish(self.hw)])
        if self._dirty and not options.keep_state:
            self.reset()
        self._dirty = True
        address = self._pool.allocate(max(1, code.size))
        try:
            self._dram[address : address + code.size] = code.reshape(-1)
            started = time.perf_counter()
            self._control.prepare(address, len(code), options.tokens)
            self._core.forget()
            self._control.launch()
            self._wait(options.limit_seconds, code, options.first)
            seconds = time.perf_counter() - started
        finally:
            self._pool.free(address)
        self._control.check_errors()
        result = self._control.result(decode(given, self.hw), options, seconds, self.hw, "rtl")
        self._check_counters(count_instructions(decode(code, self.hw), self.hw), result)
        return result

    def _wait(self, limit_seconds: float | None, code: NDArray[np.uint8], first: int) -> None:
        deadline = None if limit_seconds is None else time.monotonic() + limit_seconds
        progress: tuple[int, ...] = ()
        while not self._core.run(_CHUNK_CYCLES):
            if deadline is not None and time.monotonic() > deadline:
                raise TimeLimitError(f"time limit: not done after {limit_seconds} s and {self._control.get('cycles')} cycles")
            seen = self._core.observed()
            now = (seen.read_beats, seen.write_beats, *self._control.progress())
            if now == progress:
                raise DeviceError(f"deadlock: nothing moves any more; {self._control.halted(code, self.hw, first)}")
            progress = now

    def _check_counters(self, expected: Counters, result: RunResult) -> None:
        """Compare the core's counters with the stream, and with what the harness saw."""
        self._control.check_counters(expected, result)
        seen = self._core.observed()
        if seen.write_bytes != expected.out_bytes:
            raise DeviceError(f"{seen.write_bytes} bytes were written; the stream has {expected.out_bytes}")
        # The core does not count what is in flight when FINISH completes; the harness sees it until all is at rest.
        limits = {
            "read_beats": seen.read_beats,
            "write_beats": seen.write_beats,
            "cycles": seen.interrupt - seen.first_request + 1,
        }
        for name, most in limits.items():
            if getattr(result, name) > most:
                raise DeviceError(f"the core counts {name} = {getattr(result, name)}; on the bus it was at most {most}")


def core_library(
    hw: HardwareConfig, timing: TimingParameters, trace: str = "none", fabric: Fabric = PLAIN, *, mapped: bool = False
) -> Path:
    """Return the library of the core for `hw`, `timing` and `fabric`, built if it is not in the cache.

    `mapped`: of the netlist that Yosys makes of it for an ECP5.
    """
    hw = replace(hw, target="rtl", hw_version="")
    defaults = TimingParameters()
    memory = {name: getattr(defaults, name) for name in ("read_latency", "write_latency", "beat_interval")}
    timing = replace(timing, **memory)  # the harness has the memory, not the core

    def make() -> Core:
        require_amaranth()
        from vta.hardware.emit import emit_verilog
        from vta.hardware.netlist import ecp5_netlist

        verilog = emit_verilog(hw, timing, fabric)
        return Core(ecp5_netlist(verilog) if mapped else verilog, timing.bus_bytes, trace)

    key = [repr(hw), repr(timing), repr(fabric), hardware_digest()]
    return cached_library([*key, "netlist"] if mapped else key, make, trace)
