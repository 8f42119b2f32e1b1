"""An accelerator in the fabric of a board: what all boards share above their driver."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vta.boards.bit_file import check_bitstream
from vta.boards.description import Board, Design
from vta.boards.manifest import checksum, find_bitstream, read_manifest
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.board_control import BoardControl, make_control
from vta.devices.core_control import Registers
from vta.devices.device import DEFAULT_OPTIONS, BoardState, DeviceStatus, RunOptions, RunResult, Tokens
from vta.devices.engine.clock import Clock, SystemClock
from vta.devices.engine.segments import ends_with_finish, finish, segment_of, settling, token_moves, tokens_after
from vta.devices.lifecycle import Lifecycle, operation
from vta.errors import DeviceError, EncodingError, TimeLimitError
from vta.isa.encoding import decode, encode
from vta.isa.instruction import INSTRUCTION_BYTES
from vta.isa.program import PAGE_BYTES, whole_pages
from vta.isa.rules import capability_findings, field_findings, header_findings
from vta.isa.transfers import first_transfer_outside
from vta.support.dataclass import dataclass

__all__ = ["BoardDevice", "BoardHost", "MemoryBlock"]

_ADDRESSES = 1 << 32
_LONGEST_PAUSE_SECONDS = 1e-3
_STREAMS = 16
_LEAST_CODE_BYTES = 1 << 16

_log = logging.getLogger(__name__)


class MemoryBlock(Protocol):
    """Contiguous memory that CPU and accelerator share."""

    @property
    def address(self) -> int:
        """First byte address, as the accelerator sees it."""

    def write(self, offset: int, data: NDArray[np.uint8]) -> None:
        """Copy bytes into the block; returns when the accelerator would read them."""

    def read(self, offset: int, nbytes: int) -> NDArray[np.uint8]:
        """Copy bytes out of the block, as the accelerator left them."""

    def free(self) -> None:
        """Give the memory back."""


class BoardHost(Protocol):
    """A driver: how programs on the CPU of a board reach its fabric and its memory."""

    def program(self, bitstream: Path) -> None:
        """Put a bitstream into the fabric, at the clock of the design."""

    def registers(self, address: int, nbytes: int) -> Registers:
        """The registers at a physical byte address."""

    def allocate(self, nbytes: int) -> MemoryBlock:
        """Contiguous memory."""

    def close(self) -> None:
        """Let go of the board."""


@dataclass(frozen=True)
class _Stream:
    """A stream that was checked against the memory as it was allocated then."""

    instructions: NDArray[np.void]
    allocations: int


class BoardDevice:
    """The accelerator of `hw` as `design` of `board`, behind the driver `host`.

    `bitstream` is put into the fabric first, or else the one that the directory `bitstreams` has for the config. With neither
    the fabric keeps what it holds, and a run that does not end cannot be cleared away. All memory together is at most
    `memory_bytes`. SRAM keeps its contents from one run to the next.

    Raises `DeviceError` if the bitstream is none for the board and the config, or the fabric says that it holds something else.
    """

    def __init__(
        self,
        hw: HardwareConfig,
        board: Board,
        design: Design,
        host: BoardHost,
        memory_bytes: int = 1 << 28,
        bitstream: Path | None = None,
        bitstreams: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = board.driver
        self.board = board
        self.design = design
        self.hw = design.hardware(hw)
        self._host = host
        self._clock = clock or SystemClock()
        self._life = Lifecycle(board.name, copied=False)
        self._memory_bytes = min(memory_bytes, board.memory.nbytes)
        self._blocks: dict[int, tuple[MemoryBlock, int]] = {}
        self._allocations = 0
        self._code: tuple[MemoryBlock, int] | None = None
        self._streams: dict[bytes, _Stream] = {}
        self._tokens = Tokens()
        self._lost = ""
        """Why nobody knows the state of the accelerator."""
        self._bitstream = bitstream
        if bitstream is None and bitstreams is not None:
            self._bitstream = find_bitstream(bitstreams, board, design, self.hw)
        self._control = self._open()

    @property
    def timing(self) -> TimingParameters | None:
        """The bus, on a design whose timing follows the contract; its memory is the board's own."""
        return TimingParameters(bus_bits=self.design.bus_bits) if self.design.registers == "core" else None

    @property
    def memory_bytes(self) -> int:
        """Most device memory that may be allocated."""
        return self._memory_bytes

    @property
    @operation
    def board_state(self) -> BoardState:
        """See `ProgrammableDevice.board_state`."""
        digest = "" if self._bitstream is None else checksum(self._bitstream)
        return BoardState(self.board.name, self.design.name, self.design.clock_mhz, str(self._bitstream or ""), digest)

    @operation
    def program(self, bitstream: Path) -> None:
        """See `ProgrammableDevice.program`. Tokens are gone after it; memory keeps its contents."""
        self._bitstream = bitstream
        self._control = self._open()

    def exclusive(self) -> AbstractContextManager[None]:
        """See `Device.exclusive`."""
        return self._life.using()

    @operation
    def allocate(self, nbytes: int) -> int:
        """See `Device.allocate`; raises `DeviceError` if there is no room, or the memory is out of the accelerator's reach."""
        size = whole_pages(max(1, nbytes))
        self._check_room(nbytes, size)
        block = self._allocate(size)
        self._blocks[block.address] = (block, size)
        self._allocations += 1
        return block.address

    @operation
    def free(self, address: int) -> None:
        """See `Device.free`."""
        if address not in self._blocks:
            raise DeviceError(f"address {address:#x} is not allocated")
        block, _ = self._blocks.pop(address)
        self._allocations += 1
        block.free()

    @operation
    def write(self, address: int, data: NDArray[np.uint8]) -> None:
        """See `Device.write`."""
        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        block, offset = self._place(address, flat.size)
        with self._answers("writing memory"):
            block.write(offset, flat)

    @operation
    def read(self, address: int, nbytes: int) -> NDArray[np.uint8]:
        """See `Device.read`."""
        block, offset = self._place(address, nbytes)
        with self._answers("reading memory"):
            return block.read(offset, nbytes)

    @operation
    def reset(self) -> None:
        """See `Device.reset`. SRAM keeps its contents, as in the hardware; the next run starts without tokens."""
        if self._lost:
            self._recover()
        elif self._tokens != Tokens():
            self._execute(encode(token_moves(self._tokens, Tokens()), self.hw), RunOptions(keep_state=True))

    def status(self) -> DeviceStatus:
        """See `Device.status`."""
        return self._life.status()

    def close(self) -> None:
        """See `Device.close`."""
        with self._life.closing() as was_open:
            if was_open:
                for block, _ in [*self._blocks.values(), *([self._code] if self._code else [])]:
                    block.free()
                self._blocks.clear()
                self._code = None
                self._host.close()

    def run(self, stream: NDArray[np.uint8], options: RunOptions = DEFAULT_OPTIONS) -> RunResult:
        """See `Device.run`. A segment that does not end with FINISH gets one, behind what makes that wait for all stores.

        Raises `DeviceError` before anything runs if an instruction is none of the design's or transfers outside of allocated
        memory; if the run does not end within its limit; and if the accelerator reports an error, counts something else
        than the stream has, or does not answer. After a run that did not end the fabric is programmed anew.
        """
        with self._life.run():
            return self._execute(segment_of(stream, options), options)

    def _execute(self, given: NDArray[np.uint8], options: RunOptions) -> RunResult:
        instructions = self._checked(given, options.first)
        if self._lost:
            self._recover()
        kept = self._tokens if options.keep_state else Tokens()
        before = kept if options.tokens is None else options.tokens
        after = tokens_after(instructions, before)
        code = self._framed(given, before, after)
        self._lost = "the last run failed"
        with self._answers("running"):
            self._control.check_idle()
            started = self._clock.now()
            self._control.start(code, self._put, before)
            self._wait(options.limit_seconds, code, options.first)
            seconds = self._clock.now() - started
            self._lost = ""
            self._tokens = after
            self._control.check_errors()
            result = self._control.result(code, instructions, options, seconds, after)
        if result.tokens != after:
            raise DeviceError(f"the accelerator holds {result.tokens} after the run; the stream leaves {after}")
        return result

    def _framed(self, given: NDArray[np.uint8], before: Tokens, after: Tokens) -> NDArray[np.uint8]:
        """The segment with what gives it its tokens, and with its end."""
        parts = [given]
        if not self._control.rests and before != self._tokens:
            parts.insert(0, encode(token_moves(self._tokens, before), self.hw))
        if not ends_with_finish(given):
            if not self._control.rests:
                parts.append(encode(settling(after), self.hw))
            parts.append(finish(self.hw))
        return np.concatenate(parts)

    def _checked(self, given: NDArray[np.uint8], first: int) -> NDArray[np.void]:
        """The instructions of a segment. Raises `DeviceError` if one must not run."""
        key = given.tobytes()
        known = self._streams.get(key)
        if known is not None and known.allocations == self._allocations:
            return known.instructions
        try:
            instructions = decode(given, self.hw)
        except EncodingError as error:
            raise DeviceError(f"not run: {error}") from None
        findings = [
            *field_findings(instructions, self.hw),
            *header_findings(instructions),
            *capability_findings(instructions, self.hw),
        ]
        if findings:
            raise DeviceError(f"not run: {findings[0]}")
        outside = first_transfer_outside(
            instructions, self.hw, [(address, address + size) for address, (_, size) in self._blocks.items()]
        )
        if outside is not None:
            raise DeviceError(
                f"not run: instruction {first + outside.instruction} transfers bytes {outside.start:#x} to {outside.end:#x}, "
                "which are not inside an allocation"
            )
        while len(self._streams) >= _STREAMS:
            self._streams.pop(next(iter(self._streams)))
        self._streams[key] = _Stream(instructions, self._allocations)
        return instructions

    def _put(self, code: NDArray[np.uint8]) -> tuple[int, int]:
        """Place a stream in memory of its own."""
        if self._code is None or self._code[1] < code.size:
            if self._code is not None:
                self._code[0].free()
                self._code = None
            size = max(_LEAST_CODE_BYTES, 1 << (code.size - 1).bit_length())
            self._code = (self._allocate(size), size)
        block = self._code[0]
        block.write(0, code.reshape(-1))
        return block.address, code.size // INSTRUCTION_BYTES

    def _wait(self, limit_seconds: float | None, code: NDArray[np.uint8], first: int) -> None:
        started = self._clock.now()
        while not self._control.done():
            waited = self._clock.now() - started
            if limit_seconds is not None and waited > limit_seconds:
                raise TimeLimitError(f"time limit: not done after {limit_seconds:g} s; {self._control.halted(code, first)}")
            self._clock.sleep(min(waited / 8, _LONGEST_PAUSE_SECONDS))

    def _open(self) -> BoardControl:
        """Program the fabric if there is something to program, and look at what it holds."""
        if self._bitstream is not None:
            check_bitstream(self._bitstream, self.board, self.design)
            self._check_manifest(self._bitstream)
            _log.info("%s: programming %s", self.board.name, self._bitstream)
            with self._answers(f"programming {self._bitstream}"):
                self._host.program(self._bitstream)
        with self._answers("looking at the accelerator"):
            blocks: Mapping[str, Registers] = {
                name: self._host.registers(address, self.design.span) for name, address in self.design.bases.items()
            }
            control = make_control(self.design, self.hw, blocks, self._clock)
            control.check_hardware()
            control.check_idle()
        self._tokens, self._lost = Tokens(), ""
        return control

    def _check_manifest(self, bitstream: Path) -> None:
        """Where the file's directory, or one above it, lists it: it must be listed as what it is to be."""
        for directory in list(bitstream.resolve().parents)[:4]:
            for entry in read_manifest(directory):
                if (directory / entry.file).resolve() != bitstream.resolve():
                    continue
                listed = (entry.board, entry.design, entry.config, entry.hw_version)
                wanted = (self.board.name, self.design.name, self.hw.bitstream, self.hw.hw_version)
                names = ("board", "design", "config", "HW_VER")
                for name, found, expected in zip(names, listed, wanted, strict=True):
                    if found != expected:
                        raise DeviceError(f"{bitstream}: listed with {name} {found}; the device is to have {name} {expected}")

    def _recover(self) -> None:
        """Bring the accelerator back to a known state."""
        if self._bitstream is None:
            try:
                with self._answers("looking at the accelerator"):
                    self._control.check_idle()
            except DeviceError as error:
                raise DeviceError(f"{self._lost}, and {error}; without its bitstream it cannot be cleared away") from None
            if self._control.rests:
                self._tokens, self._lost = Tokens(), ""
                return
            raise DeviceError(f"{self._lost}; without its bitstream the accelerator cannot be brought back to a known state")
        self._control = self._open()

    def _allocate(self, size: int) -> MemoryBlock:
        window = self.board.memory
        if window.allocation_bytes and size > window.allocation_bytes:
            most = window.allocation_bytes
            raise DeviceError(f"an allocation of {size} bytes; board {self.board.name} allows {most} in one piece")
        with self._answers(f"allocating {size} bytes"):
            block = self._host.allocate(size)
        start, end = block.address, block.address + size
        problem = ""
        if start % PAGE_BYTES:
            problem = f"which is not a multiple of {PAGE_BYTES}"
        elif end > _ADDRESSES:
            problem = "which the accelerator's 32-bit addresses do not reach"
        elif not window.device_start <= start < end <= window.device_end:
            problem = f"outside the window from {window.device_start:#x} to {window.device_end:#x} of board {self.board.name}"
        if problem:
            block.free()
            raise DeviceError(f"the driver allocated {size} bytes at {start:#x}, {problem}")
        return block

    def _check_room(self, nbytes: int, size: int) -> None:
        if nbytes < 0:
            raise DeviceError(f"cannot allocate {nbytes} bytes of device memory")
        used = sum(taken for _, taken in self._blocks.values())
        if used + size > self._memory_bytes:
            raise DeviceError(
                f"out of device memory: {size} bytes needed, {self._memory_bytes - used} available of {self._memory_bytes}"
            )

    def _place(self, address: int, nbytes: int) -> tuple[MemoryBlock, int]:
        for start, (block, size) in self._blocks.items():
            if start <= address and address + nbytes <= start + size:
                return block, address - start
        raise DeviceError(f"{nbytes} bytes at {address:#x} are not inside an allocation")

    @contextmanager
    def _answers(self, doing: str) -> Iterator[None]:
        """What a driver raises is that the board failed."""
        try:
            yield
        except (OSError, RuntimeError, MemoryError, ValueError) as error:
            raise DeviceError(f"board {self.board.name}, while {doing}: {error or type(error).__name__}") from error
