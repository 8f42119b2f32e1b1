"""The functional simulator as a device: bit-exact, without time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.device import DEFAULT_OPTIONS, Counters, DeviceStatus, RunOptions, RunResult, Tokens
from vta.devices.engine.memory_pool import MemoryPool
from vta.devices.engine.native import NativeStream, counters_from, geometry_of, stream_of, token_counts
from vta.devices.lifecycle import Lifecycle, operation
from vta.errors import DeviceError, TimeLimitError
from vta.native import ffi, lib

__all__ = ["Kernel", "SimDevice"]

_STEP_MACS = 1 << 29
"""Work between two looks at the clock and at signals: a few milliseconds to some tenths of a second."""

_ERROR_BYTES = 512

_GRAIN = 4
"""Bytes of device memory for each mark of what has been written."""


class Kernel(IntEnum):
    """Which inner loops the simulator uses; all give the same results."""

    BEST = 0
    PORTABLE = 1
    AVX2 = 2
    AVX512 = 3


class SimDevice:
    """Executes instruction streams on the host, for any hardware config.

    `memory_bytes` is the size of the device memory. The host commits it page by page as it is touched. `dram`, shape
    (memory_bytes,), is memory that somebody else has, too.
    """

    name = "sim"

    def __init__(
        self,
        hw: HardwareConfig,
        memory_bytes: int = 1 << 28,
        kernel: Kernel = Kernel.BEST,
        dram: NDArray[np.uint8] | None = None,
    ) -> None:
        self.hw = hw
        self._life = Lifecycle(self.name)
        self._dram = np.zeros(memory_bytes, dtype=np.uint8) if dram is None else dram
        memory_bytes = self._dram.size
        self._pool = MemoryPool(memory_bytes)
        self._written = np.zeros(-(-memory_bytes // _GRAIN), dtype=np.uint8)
        error = ffi.new("char[]", _ERROR_BYTES)
        engine = lib.vta_functional_create(geometry_of(hw), int(kernel), error, _ERROR_BYTES)
        if engine == ffi.NULL:
            raise DeviceError(ffi.string(error).decode())
        self._engine = ffi.gc(engine, lib.vta_functional_destroy)
        self.kernel: str = ffi.string(lib.vta_functional_kernel(engine)).decode()
        """Name of the inner loops in use: ``portable``, ``avx2`` or ``avx512``."""

    @property
    def timing(self) -> TimingParameters | None:
        """See `Device.timing`: this device has no time."""
        return None

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
        address = self._pool.allocate(nbytes)
        self._written[address // _GRAIN : -(-(address + nbytes) // _GRAIN)] = 0
        return address

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
        self._written[address // _GRAIN : -(-(address + flat.size) // _GRAIN)] = 1

    @operation
    def read(self, address: int, nbytes: int) -> NDArray[np.uint8]:
        """See `Device.read`."""
        self._pool.check(address, nbytes)
        return self._dram[address : address + nbytes].copy()

    @operation
    def reset(self) -> None:
        """See `Device.reset`."""
        lib.vta_functional_reset(self._engine)

    def status(self) -> DeviceStatus:
        """See `Device.status`."""
        return self._life.status()

    def close(self) -> None:
        """See `Device.close`."""
        with self._life.closing() as was_open:
            if was_open:
                ffi.release(self._engine)
                self._dram = self._written = np.zeros(0, dtype=np.uint8)

    def run(self, stream: NDArray[np.uint8], options: RunOptions = DEFAULT_OPTIONS) -> RunResult:
        """See `Device.run`.

        Raises `DeviceError` on deadlock, an access out of bounds, an instruction that does not decode, a read of SRAM
        (with `options.checks`) or DRAM (with `options.dram_checks`) that nothing wrote, or the time limit; the text names
        the instruction. Can be interrupted with Ctrl-C.
        """
        with self._life.run():
            return self._execute(stream, options)

    @property
    def runs_samples(self) -> bool:
        """See `SampleDevice.runs_samples`."""
        return type(self) is SimDevice

    def twin(self) -> SimDevice:
        """See `SampleDevice.twin`."""
        return SimDevice(self.hw, self.memory_bytes, Kernel[self.kernel.upper()])

    def run_samples(
        self,
        stream: NDArray[np.uint8],
        samples: int,
        inputs: Sequence[tuple[int, NDArray[np.uint8]]],
        outputs: Sequence[tuple[int, int]],
        options: RunOptions = DEFAULT_OPTIONS,
    ) -> list[NDArray[np.uint8]]:
        """See `SampleDevice.run_samples`."""
        given = [(address, np.ascontiguousarray(values).reshape(samples, -1).view(np.uint8)) for address, values in inputs]
        made = [(address, np.empty((samples, nbytes), np.uint8)) for address, nbytes in outputs]
        with self._life.run(runs=samples):
            for address, values in (*given, *made):
                self._pool.check(address, values.shape[1])
            for address, values in given:
                self._written[address // _GRAIN : -(-(address + values.shape[1]) // _GRAIN)] = 1
            code = stream_of(stream, options)
            job = _job(code, options, self._dram, self._written)
            all_in, all_out = _values_of(given), _values_of(made)
            state = {"inputs": all_in, "input_count": len(given), "outputs": all_out, "output_count": len(made)}
            native = ffi.new("vta_functional_samples *", {**state, "samples": samples})
            limit = options.limit_seconds
            status, done = lib.VTA_MORE, -1
            while status == lib.VTA_MORE:
                if native.done > done:
                    done, deadline = native.done, None if limit is None else time.monotonic() + limit
                elif deadline is not None and time.monotonic() > deadline:
                    raise self._out_of_time(limit)
                status = lib.vta_functional_step_samples(self._engine, job, native, _STEP_MACS)
            self._check(status)
        return [values for _, values in made]

    def _execute(self, stream: NDArray[np.uint8], options: RunOptions, rank: NDArray[np.int64] | None = None) -> RunResult:
        """Run; of the ready units, the one with the instruction of the lowest rank, shape (n,), goes on each time."""
        given = stream_of(stream, options)
        job = _job(given, options, self._dram, self._written)
        job.rank = ffi.NULL if rank is None else ffi.from_buffer("int64_t[]", rank)
        if not options.keep_state:
            self.reset()
        if options.tokens is not None:
            lib.vta_functional_set_tokens(self._engine, token_counts(options.tokens))
        started = time.perf_counter()
        self._finish(lib.vta_functional_begin(self._engine, job), options.limit_seconds)
        seconds = time.perf_counter() - started
        return RunResult(
            counters=self._counters(-1),
            operators=tuple(self._counters(index) for index in range(given.operator_count)),
            tokens=self._tokens(),
            seconds=seconds,
        )

    def _finish(self, status: int, limit_seconds: float | None) -> None:
        """Step the engine until the run is done."""
        deadline = None if limit_seconds is None else time.monotonic() + limit_seconds
        while status == lib.VTA_MORE:
            status = lib.vta_functional_step(self._engine, _STEP_MACS)
            if status == lib.VTA_MORE and deadline is not None and time.monotonic() > deadline:
                raise self._out_of_time(limit_seconds)
        self._check(status)

    def _out_of_time(self, limit_seconds: float | None) -> TimeLimitError:
        done = self._counters(-1).instructions
        return TimeLimitError(f"time limit: not done after {limit_seconds} s; {done} instructions executed")

    def _check(self, status: int) -> None:
        """Raise `DeviceError` if a run has failed."""
        if status == lib.VTA_FAILED:
            raise DeviceError(ffi.string(lib.vta_functional_error(self._engine)).decode())

    def _counters(self, operator: int) -> Counters:
        return counters_from(lib.vta_functional_get_counters, self._engine, operator)

    def _tokens(self) -> Tokens:
        counts = ffi.new("uint64_t[4]")
        lib.vta_functional_get_tokens(self._engine, counts)
        return Tokens(*(int(count) for count in counts))


def _values_of(values: Sequence[tuple[int, NDArray[np.uint8]]]) -> Any:
    """Where values of all samples lie, and where in device memory those of one do, as the core takes them."""
    native = ffi.new("vta_functional_values[]", len(values))
    for target, (address, array) in zip(native, values, strict=True):
        target.address, target.bytes, target.values = address, array.shape[1], ffi.from_buffer("uint8_t[]", array)
    return native


def _job(given: NativeStream, options: RunOptions, dram: NDArray[np.uint8], written: NDArray[np.uint8]) -> Any:
    """The C description of a run."""
    job = ffi.new("vta_functional_job *")
    job.stream, job.first, job.last = given.code, options.first, given.last
    job.dram, job.dram_bytes = ffi.from_buffer("uint8_t[]", dram), dram.size
    job.operator_index, job.operator_count = given.operators, given.operator_count
    job.random_order = options.seed is not None
    job.seed = 0 if options.seed is None else options.seed % (1 << 64)
    job.dram_written = ffi.from_buffer("uint8_t[]", written)
    job.checks, job.dram_checks = options.checks, options.dram_checks
    return job
