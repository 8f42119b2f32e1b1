"""The native cycle engine: when each instruction of a stream is executed, without its data."""

from __future__ import annotations

import threading
import time
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters, timing_of
from vta.devices.device import (
    DEFAULT_OPTIONS,
    INTERVAL_DTYPE,
    TIMELINE_UNITS,
    InstructionTimes,
    RunOptions,
    RunResult,
    Tokens,
    UnitCycles,
)
from vta.devices.engine.native import NativeStream, counters_from, geometry_of, stream_of, token_counts
from vta.errors import DeviceError, TimeLimitError
from vta.native import ffi, lib

__all__ = ["CycleEngine", "Preset"]

_ERROR_BYTES = 512
_TIME_FIELDS = ("dispatched", "accepted", "completed", "busy", "memory", "token")


class Preset(Enum):
    """Whose timing the engine follows."""

    RTL = "rtl"
    """native/TIMING.md, to the cycle."""
    CHISEL = "chisel"
    """The published Chisel design, approximately: costs per instruction, from a reading of its source."""
    HLS = "hls"
    """The published HLS design, approximately: known initiation intervals, assumed latencies."""

    @property
    def exact(self) -> bool:
        """Whether its cycles are those of hardware that exists here, rather than an approximation."""
        return self is Preset.RTL


_NATIVE = {Preset.RTL: lib.VTA_PRESET_RTL, Preset.CHISEL: lib.VTA_PRESET_CHISEL, Preset.HLS: lib.VTA_PRESET_HLS}


class CycleEngine:
    """Times instruction streams for one hardware config. `timing` is by default that of the config's platform.

    Threads that share an engine take turns.
    """

    def __init__(self, hw: HardwareConfig, timing: TimingParameters | None = None, preset: Preset = Preset.RTL) -> None:
        self.hw = hw
        self.timing = timing or timing_of(hw)
        self.preset = preset
        parameters = ffi.new("vta_timing *", self.timing.to_json())
        error = ffi.new("char[]", _ERROR_BYTES)
        engine = lib.vta_cycle_create(geometry_of(hw), parameters, _NATIVE[preset], error, _ERROR_BYTES)
        if engine == ffi.NULL:
            raise DeviceError(ffi.string(error).decode())
        self._engine = ffi.gc(engine, lib.vta_cycle_destroy)
        self._turn = threading.Lock()

    def run(self, stream: NDArray[np.uint8], options: RunOptions = DEFAULT_OPTIONS, tokens: Tokens | None = None) -> RunResult:
        """Time a binary stream, shape (n, 16), or the segment of it that `options` name, from `tokens` (default: none) on.

        A segment without FINISH ends when its last instruction completes. Raises `DeviceError` on deadlock, if a token
        queue overflows, for an instruction that does not decode, or at the time limit; the text names the instruction.
        """
        given = stream_of(stream, options)
        job = ffi.new("vta_cycle_job *")
        job.stream, job.first, job.last = given.code, options.first, given.last
        job.operator_index, job.operator_count = given.operators, given.operator_count
        job.timeline = options.timeline
        job.limit_seconds = options.limit_seconds or 0
        with self._turn:
            return self._timed(job, given, options, tokens or Tokens())

    def _timed(self, job: Any, given: NativeStream, options: RunOptions, tokens: Tokens) -> RunResult:
        started = time.perf_counter()
        status = lib.vta_cycle_run(self._engine, job, token_counts(tokens))
        if status != lib.VTA_DONE:
            kind = TimeLimitError if status == lib.VTA_TIMED_OUT else DeviceError
            raise kind(ffi.string(lib.vta_cycle_error(self._engine)).decode())
        seconds = time.perf_counter() - started
        result = ffi.new("vta_cycle_result *")
        lib.vta_cycle_get_result(self._engine, result)
        units = {name: _unit(result.units[index]) for index, name in enumerate(TIMELINE_UNITS)}
        return RunResult(
            counters=counters_from(lib.vta_cycle_get_counters, self._engine, -1),
            operators=tuple(
                counters_from(lib.vta_cycle_get_counters, self._engine, index) for index in range(given.operator_count)
            ),
            tokens=Tokens(*(int(count) for count in result.tokens)),
            seconds=seconds,
            cycles=int(result.cycles),
            units=units,
            read_beats=int(result.read_beats),
            write_beats=int(result.write_beats),
            preset=self.preset.value,
            times=self._times(given.last - options.first),
            timeline=self._timeline(int(result.intervals)) if options.timeline else None,
        )

    def _times(self, count: int) -> InstructionTimes:
        rows = np.zeros((count, len(_TIME_FIELDS)), dtype=np.int64)
        lib.vta_cycle_get_instructions(self._engine, ffi.from_buffer("vta_instruction_cycles[]", rows))
        columns = np.ascontiguousarray(rows.T)
        return InstructionTimes(**dict(zip(_TIME_FIELDS, columns, strict=True)))

    def _timeline(self, count: int) -> NDArray[np.void]:
        intervals = np.zeros(count, dtype=INTERVAL_DTYPE)
        lib.vta_cycle_get_intervals(self._engine, ffi.from_buffer("vta_interval[]", intervals))
        return intervals


def _unit(cycles: object) -> UnitCycles:
    return UnitCycles(*(int(getattr(cycles, name)) for name in ("busy", "token", "memory", "idle")))
