"""The part of a stream that a device on hardware runs, and what has to stand around it there."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.devices.device import RunOptions, Tokens
from vta.errors import DeviceError
from vta.isa.encoding import encode
from vta.isa.instruction import INSTRUCTION_BYTES, Opcode, Unit, blank_instructions, units_of

__all__ = ["ends_with_finish", "finish", "segment_of", "settling", "tokens_after", "token_moves"]

_PUSHES: dict[str, tuple[Unit, str]] = {
    "load_to_compute": (Unit.LOAD, "push_next"),
    "compute_to_load": (Unit.COMPUTE, "push_prev"),
    "compute_to_store": (Unit.COMPUTE, "push_next"),
    "store_to_compute": (Unit.STORE, "push_prev"),
}
_POPS: dict[str, tuple[Unit, str]] = {
    "load_to_compute": (Unit.COMPUTE, "pop_prev"),
    "compute_to_load": (Unit.LOAD, "pop_next"),
    "compute_to_store": (Unit.STORE, "pop_prev"),
    "store_to_compute": (Unit.COMPUTE, "pop_next"),
}
_CARRIERS = {
    Unit.LOAD: (Opcode.LOAD, MemoryType.INP),
    Unit.COMPUTE: (Opcode.LOAD, MemoryType.UOP),
    Unit.STORE: (Opcode.STORE, MemoryType.OUT),
}
"""A transfer of nothing for each unit: it only carries tokens."""


def segment_of(stream: NDArray[np.uint8], options: RunOptions) -> NDArray[np.uint8]:
    """The instructions that `options` ask for, shape (n, 16). Raises `DeviceError` if the stream has none such."""
    code = np.ascontiguousarray(stream, dtype=np.uint8)
    if code.ndim != 2 or code.shape[1] != INSTRUCTION_BYTES:
        raise DeviceError(f"an instruction stream has shape (n, {INSTRUCTION_BYTES}), got {code.shape}")
    last = len(code) if options.last is None else options.last
    if not 0 <= options.first <= last <= len(code):
        raise DeviceError(f"segment [{options.first}, {last}) is not inside the stream of {len(code)} instructions")
    return code[options.first : last]


def ends_with_finish(code: NDArray[np.uint8]) -> bool:
    """Whether the last instruction of a binary stream, shape (n, 16), is FINISH."""
    return bool(len(code)) and int(code[-1, 0]) & 7 == Opcode.FINISH


def finish(hw: HardwareConfig) -> NDArray[np.uint8]:
    """FINISH, shape (1, 16)."""
    row = blank_instructions(1)
    row["opcode"] = Opcode.FINISH
    return encode(row, hw)


def tokens_after(instructions: NDArray[np.void], before: Tokens) -> Tokens:
    """The tokens that complete execution of `instructions`, shape (n,), leaves in the queues."""
    units = units_of(instructions)

    def count(queue: str, flags: Mapping[str, tuple[Unit, str]]) -> int:
        unit, flag = flags[queue]
        return int(np.count_nonzero(instructions[flag][units == unit]))

    return Tokens(**{queue: getattr(before, queue) + count(queue, _PUSHES) - count(queue, _POPS) for queue in _PUSHES})


def token_moves(have: Tokens, want: Tokens) -> NDArray[np.void]:
    """Instructions that only push and pop tokens until the queues hold `want` instead of `have`, shape (n,)."""
    rows = []
    for queue, push in _PUSHES.items():
        missing = getattr(want, queue) - getattr(have, queue)
        unit, flag = push if missing > 0 else _POPS[queue]
        rows += [_carrier(unit, flag)] * abs(missing)
    return np.concatenate(rows) if rows else blank_instructions(0)


def settling(left: Tokens) -> NDArray[np.void]:
    """What makes FINISH wait for all stores before it, where the hardware would not, shape (n,).

    `left` are the tokens that the instructions before leave. The compute unit takes all that come from the store unit, and one
    more that the store unit pushes after its last store; then the store unit puts back those that were there.
    """
    count = left.store_to_compute
    push, pop = _carrier(Unit.STORE, "push_prev"), _carrier(Unit.COMPUTE, "pop_next")
    return np.concatenate([push, *[pop] * (count + 1), *[push] * count])


def _carrier(unit: Unit, flag: str) -> NDArray[np.void]:
    row = blank_instructions(1)
    row["opcode"], row["memory_type"] = _CARRIERS[unit]
    row[flag] = 1
    return row
