"""The accelerator as an OpenCL kernel: on an FPGA, or on any other OpenCL device such as this machine's CPU."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.device import DEFAULT_OPTIONS, Counters, DeviceStatus, RunOptions, RunResult, Tokens
from vta.devices.engine.halt import halt_text
from vta.devices.engine.memory_pool import MemoryPool
from vta.devices.engine.segments import segment_of
from vta.devices.lifecycle import Lifecycle, operation
from vta.devices.static_counters import count_operators
from vta.errors import DeviceError, EncodingError, TimeLimitError
from vta.hardware.opencl.program import KERNEL_NAME, kernel_source, opencl, prepare
from vta.hardware.opencl.state import STATE_WORDS, Status, Word, geometry_difference, geometry_of, sram_bytes
from vta.hardware.registers import QUEUES
from vta.isa import Unit, decode

__all__ = ["OpenclDevice"]

_LAUNCH_WORK = 1 << 28
"""Multiply-accumulates of one launch: at most some tenths of a second on a CPU, until the host looks at the clock again."""

_SILENCE_SECONDS = 60.0
"""A launch that takes longer has hung, whatever the limit of the run: OpenCL cannot end it."""

_POLL_SECONDS = (20e-6, 2e-3)
_NEVER = 1 << 64
_COUNTED = ("uop_bytes", "inp_bytes", "wgt_bytes", "acc_bytes", "out_bytes", "gemm_uops", "reset_uops", "alu_uops")

_FAULTS = {
    Status.BAD_OPCODE: "its opcode is unknown",
    Status.BAD_FLAG: "a dependency flag names a unit that does not exist",
    Status.BAD_MEMORY_TYPE: "its memory_type is not one that it can have",
    Status.BAD_PADS: "a STORE has no padding",
    Status.BAD_ALU_OPCODE: "its alu_opcode is unknown",
    Status.SRAM_BOUNDS: "it leaves the on-chip memory",
    Status.DRAM_BOUNDS: "it leaves the device memory",
    Status.UOP_BOUNDS: "uop_end lies behind the micro-op memory",
    Status.DST_BOUNDS: "a dst row lies behind the accumulator memory",
    Status.SRC_BOUNDS: "a src row lies behind its memory",
    Status.WGT_BOUNDS: "a wgt row lies behind the weight memory",
}


class OpenclDevice:
    """Executes instruction streams in an OpenCL kernel of one work item, which knows the whole ISA.

    `kernel` is a file: source (.cl; by default that of this package, compiled for `hw`), or a binary for the device, such as
    an .aocx. `platform` is part of the name of the OpenCL platform; by default the first that can take the kernel.
    `memory_bytes` is the size of the device memory; instruction streams lie in it during a run. `local` puts the on-chip
    memories of source into local memory; by default on accelerators alone.
    """

    name = "opencl"

    def __init__(
        self,
        hw: HardwareConfig,
        memory_bytes: int = 1 << 28,
        kernel: Path | None = None,
        platform: str = "",
        local: bool | None = None,
        launch_work: int = _LAUNCH_WORK,
    ) -> None:
        """Raises `DeviceError` if there is no such platform, or the kernel does not build; then with what the compiler said.

        It raises it too where `hw` has options, which the kernel lacks.
        """
        if hw.requantize_unit:
            raise DeviceError("REQUANTIZE_UNIT = 1, and the OpenCL kernel has no REQUANTIZE; allowed: 0")
        if hw.depthwise_unit:
            raise DeviceError("DEPTHWISE_UNIT = 1, and the OpenCL kernel has no DEPTHWISE; allowed: 0")
        self.hw = hw
        self._life = Lifecycle(self.name, copied=False)
        self._pool = MemoryPool(memory_bytes)
        self._cl = cl = opencl()
        path = kernel or kernel_source()
        self._place, program = prepare(path, hw, platform, local)
        place = self._place
        self._launch_work = launch_work
        self._hung = False
        flags = cl.mem_flags.READ_WRITE
        try:
            self._kernel = cl.Kernel(program, KERNEL_NAME)
            profiling = cl.command_queue_properties.PROFILING_ENABLE
            self._queue = cl.CommandQueue(place.context, place.device, profiling)
            self._dram, self._sram, self._state = (
                cl.Buffer(place.context, flags, nbytes) for nbytes in (memory_bytes, sram_bytes(hw), 8 * STATE_WORDS)
            )
            self._clear()
        except cl.Error as error:
            raise DeviceError(f"{path}: {place.device.name.strip()}: {error}") from None
        self._check_geometry(path)

    @property
    def platform(self) -> str:
        """Name of the OpenCL platform."""
        return str(self._place.platform)

    @property
    def timing(self) -> TimingParameters | None:
        """See `Device.timing`: this device does not count cycles."""
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
        return self._pool.allocate(nbytes)

    @operation
    def free(self, address: int) -> None:
        """See `Device.free`."""
        self._pool.free(address)

    @operation
    def write(self, address: int, data: NDArray[np.uint8]) -> None:
        """See `Device.write`."""
        self._check_usable()
        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._pool.check(address, flat.size)
        self._write(self._dram, flat, address)

    @operation
    def read(self, address: int, nbytes: int) -> NDArray[np.uint8]:
        """See `Device.read`."""
        self._check_usable()
        self._pool.check(address, nbytes)
        return self._read(self._dram, address, nbytes)

    @operation
    def reset(self) -> None:
        """See `Device.reset`."""
        self._check_usable()
        self._clear()

    def status(self) -> DeviceStatus:
        """See `Device.status`."""
        return self._life.status()

    def close(self) -> None:
        """See `Device.close`."""
        with self._life.closing() as was_open:
            if was_open and not self._hung:
                for buffer in (self._dram, self._sram, self._state):
                    buffer.release()

    def run(self, stream: NDArray[np.uint8], options: RunOptions = DEFAULT_OPTIONS) -> RunResult:
        """See `Device.run`; the seconds are those of the kernel. Reads of on-chip memory that nothing wrote are not found.

        Raises `DeviceError` on deadlock, an access out of bounds, an instruction that does not decode, or the time limit; the
        text names the instruction. A kernel that does not come back leaves a device that cannot be used any more. Can be
        interrupted with Ctrl-C.
        """
        with self._life.run():
            self._check_usable()
            try:
                return self._run(stream, options)
            except self._cl.Error as error:
                raise DeviceError(f"{self._place.device.name.strip()}: {error}") from None

    def _run(self, stream: NDArray[np.uint8], options: RunOptions) -> RunResult:
        code = segment_of(stream, options)
        if not options.keep_state:
            self._clear()
        state = self._begin(options)
        address = self._pool.allocate(max(1, code.size))
        try:
            self._write(self._dram, code.reshape(-1), address)
            seconds = self._execute(address, len(code), options.limit_seconds)
            state = self._read(self._state, 0, 8 * STATE_WORDS).view(np.uint64)
        finally:
            self._pool.free(address)
        self._check(Status(int(state[Word.STATUS])), state, code, options.first)
        operators: tuple[Counters, ...] = ()
        if options.operator_index is not None:
            chosen = options.operator_index[options.first : options.first + len(code)]
            operators = count_operators(decode(code, self.hw), chosen, options.operator_count, self.hw)
        return RunResult(self._counters(state), operators, _tokens(state), seconds)

    def _begin(self, options: RunOptions) -> NDArray[np.uint64]:
        """Write the state that the first launch starts from; tokens are those that the last run left, or that were given."""
        state = self._read(self._state, 0, 8 * STATE_WORDS).view(np.uint64)
        tokens = options.tokens if options.tokens is not None else _tokens(state)
        counts = [getattr(tokens, queue) for queue in QUEUES]
        if min(counts) < 0:
            raise DeviceError(f"token counts must not be negative, got {tokens}")
        state[:] = 0
        state[Word.TOKENS : Word.TOKENS + len(QUEUES)] = counts
        # Any number but 0 is a state of the random numbers; neighbouring seeds must not give neighbouring states.
        if options.seed is not None:
            state[Word.RANDOM] = np.random.default_rng(options.seed % _NEVER).integers(1, 1 << 63)
        self._write(self._state, state.view(np.uint8))
        return state

    def _execute(self, address: int, count: int, limit_seconds: float | None) -> float:
        """Launch until the stream has ended; returns the seconds that the kernel took."""
        deadline = None if limit_seconds is None else time.monotonic() + limit_seconds
        seconds = 0.0
        while True:
            seconds += self._launch(address, count, self._launch_work)
            status = int(self._read(self._state, 0, 8).view(np.uint64)[0])
            if status != Status.MORE:
                return seconds
            if deadline is not None and time.monotonic() > deadline:
                done = self._read(self._state, 0, 8 * STATE_WORDS).view(np.uint64)[Word.COMPLETED :][: len(Unit)].sum()
                raise TimeLimitError(f"time limit: not done after {limit_seconds} s; {done} instructions executed")

    def _launch(self, address: int, count: int, work: int) -> float:
        """Run the kernel once; returns its seconds. Raises `DeviceError` if it does not come back."""
        self._kernel.set_args(
            self._dram,
            np.uint64(self.memory_bytes),
            np.uint64(address),
            np.uint32(count),
            np.uint64(work),
            np.uint64(geometry_of(self.hw)),
            self._state,
            self._sram,
        )
        event = self._cl.enqueue_nd_range_kernel(self._queue, self._kernel, (1,), (1,))
        self._queue.flush()
        self._wait(event)
        return float(event.profile.end - event.profile.start) * 1e-9

    def _wait(self, event: Any) -> None:
        """Return when a command is done. Polls, because a wait of OpenCL knows no limit."""
        complete = self._cl.command_execution_status.COMPLETE
        started = time.monotonic()
        pause, longest = _POLL_SECONDS
        while (status := event.get_info(self._cl.event_info.COMMAND_EXECUTION_STATUS)) != complete:
            if status < 0:
                raise DeviceError(f"the kernel failed with OpenCL error {status}")
            if time.monotonic() > started + _SILENCE_SECONDS:
                self._hung = True
                raise TimeLimitError(f"time limit: the kernel has not come back for {_SILENCE_SECONDS:g} s, and cannot be ended")
            time.sleep(pause)
            pause = min(2 * pause, longest)

    def _check_geometry(self, kernel: Path) -> None:
        """Launch on an empty stream: a binary says what it is for."""
        self._launch(0, 0, 1)
        state = self._read(self._state, 0, 8 * STATE_WORDS).view(np.uint64)
        if state[Word.STATUS] == Status.BAD_GEOMETRY:
            differing = geometry_difference(int(state[Word.KNOWN_GEOMETRY]), self.hw)
            raise DeviceError(f"{kernel}: was compiled for another config: {differing}")

    def _check(self, status: Status, state: NDArray[np.uint64], code: NDArray[np.uint8], first: int) -> None:
        if status is Status.DONE:
            return
        if status is Status.DEADLOCK:
            completed = {unit: int(state[Word.COMPLETED + unit]) for unit in Unit}
            try:
                text = halt_text(decode(code, self.hw), completed, _tokens(state), first)
            except EncodingError as error:  # of an instruction behind those that wait
                text = str(error)
            raise DeviceError(f"deadlock: {text}")
        raise DeviceError(f"instruction {first + int(state[Word.FAULT])}: {_FAULTS[status]}")

    def _counters(self, state: NDArray[np.uint64]) -> Counters:
        counted = {name: int(state[Word[name.upper()]]) for name in _COUNTED}
        done = {f"{unit.name.lower()}_instructions": int(state[Word.COMPLETED + unit]) for unit in Unit}
        macs = counted["gemm_uops"] * self.hw.batch * self.hw.block**2
        return Counters(**counted, **done, macs=macs)

    def _check_usable(self) -> None:
        if self._hung:
            raise DeviceError("a kernel hangs on the device: close it, and open it again")

    def _clear(self) -> None:
        """Zero on-chip memory and tokens."""
        for buffer in (self._sram, self._state):
            self._cl.enqueue_fill_buffer(self._queue, buffer, np.uint8(0), 0, buffer.size)
        self._queue.finish()

    def _write(self, buffer: Any, data: NDArray[np.uint8], offset: int = 0) -> None:
        if data.size:
            self._cl.enqueue_copy(self._queue, buffer, data, dst_offset=offset, is_blocking=True)

    def _read(self, buffer: Any, offset: int, nbytes: int) -> NDArray[np.uint8]:
        data = np.empty(nbytes, dtype=np.uint8)
        if nbytes:
            self._cl.enqueue_copy(self._queue, data, buffer, src_offset=offset, is_blocking=True)
        return data


def _tokens(state: NDArray[np.uint64]) -> Tokens:
    return Tokens(*(int(count) for count in state[Word.TOKENS : Word.TOKENS + len(QUEUES)]))
