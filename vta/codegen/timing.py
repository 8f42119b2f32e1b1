"""Streams for timing alone, as fast as they can be made: what tuners measure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.codegen.gemm_description import GemmDescription, emit_gemm
from vta.codegen.memory import plan_memory
from vta.codegen.stream import Stream
from vta.codegen.tokens import encoded_with_tokens
from vta.config.hardware import HardwareConfig
from vta.isa.program import PAGE_BYTES
from vta.schedule.schedule import Schedule
from vta.tile.gemm_operator import GemmOperator

__all__ = ["TimingEmitter"]


class TimingEmitter:
    """Makes streams of one operator for many schedules, without micro-ops and constants.

    They are those of `vta.codegen.region.compile_operators` with the image at the first page, and every tensor in memory of its
    own.
    """

    def __init__(self, operator: GemmOperator, hw: HardwareConfig) -> None:
        self._hw = hw
        tensors = {tensor.name: tensor for tensor in operator.tensors}
        addresses, self._arena = plan_memory([operator], list(tensors.values()), [], hw)
        self._described = {flat: GemmDescription(operator.flattened if flat else operator, addresses) for flat in (True, False)}

    def stream(self, schedule: Schedule) -> NDArray[np.uint8]:
        """The binary stream, shape (n, 16). Raises `CompileError` if something does not fit."""
        stream = Stream(self._hw, keeps_data=False, groups_uops=True)
        with stream.origin(0, 0):
            emit_gemm(stream, self._described[schedule.flat], schedule)
        return encoded_with_tokens(stream, self._arena, PAGE_BYTES)
