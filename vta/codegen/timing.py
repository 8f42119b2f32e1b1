"""Streams for timing alone, as fast as they can be made: what tuners measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region import plan_memory, timing_stream
from vta.codegen.region_parts import Part, part_of_arrays
from vta.codegen.stream import Access
from vta.codegen.tokens import Touches
from vta.config.hardware import HardwareConfig
from vta.isa.instruction import INSTRUCTION_BYTES
from vta.isa.program import PAGE_BYTES
from vta.schedule.resources import Buffers, resources
from vta.schedule.schedule import Schedule
from vta.support.native_library import ffi, lib
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.step import Immediate, PerChannel, Step, TensorOperand

__all__ = ["TimingEmitter"]

_KINDS = {
    Immediate(0).structure: lib.VTA_STEP_IMMEDIATE,
    PerChannel(np.zeros(1, np.int64)).structure: lib.VTA_STEP_VECTOR,
    TensorOperand(()).structure: lib.VTA_STEP_TENSOR,
}


class TimingEmitter:
    """Makes streams of one operator for many schedules: those of `timing_stream`, natively."""

    def __init__(self, operator: GemmOperator, hw: HardwareConfig, memory: tuple[Mapping[str, int], int] | None = None) -> None:
        """`memory` is that of `plan_memory`, if the tensors do not lie in memory of their own."""
        self._operator = operator
        self._hw = hw
        tensors = {tensor.name: tensor for tensor in operator.tensors}
        addresses, arena = memory or plan_memory([operator], list(tensors.values()), [])
        self._target = ffi.new("vta_emit_target *")
        for name, _ in ffi.typeof("vta_geometry").fields:
            setattr(self._target.geometry, name, getattr(hw, name))
        self._target.uop_depth = hw.uop_depth
        self._target.uop_dst_distance = hw.capabilities.uop_dst_distance
        self._target.arena, self._target.base = arena, PAGE_BYTES
        self._described: dict[bool, _Described] = {}
        if _is_native(operator):
            self._described = {flat: _Described(operator.flattened if flat else operator, addresses) for flat in (True, False)}

    def stream(self, schedule: Schedule) -> NDArray[np.uint8]:
        """The binary stream, shape (n, 16). Raises `CompileError` if something does not fit."""
        if not self._described:
            return self._slowly(schedule)
        cut = self._operator.laid_out(schedule)
        emitted = lib.vta_emit_tiles(
            self._described[schedule.flat].operator, _native_schedule(cut, schedule, self._hw), self._target
        )
        if emitted == ffi.NULL:
            return self._slowly(schedule)
        try:
            stream = np.empty((lib.vta_emitted_count(emitted), INSTRUCTION_BYTES), dtype=np.uint8)
            lib.vta_emitted_write(emitted, ffi.cast("uint8_t *", stream.ctypes.data))
        finally:
            lib.vta_emitted_free(emitted)
        return stream

    def part(self, schedule: Schedule) -> Part | None:
        """What the operator emits, to be joined with others; None if the core does not emit it or something does not fit."""
        if not self._described:
            return None
        native = _native_schedule(self._operator.laid_out(schedule), schedule, self._hw)
        emitted = lib.vta_emit_part(self._described[schedule.flat].operator, native, self._target)
        if emitted == ffi.NULL:
            return None
        try:
            return _copied(emitted, self._hw)
        finally:
            lib.vta_emitted_part_free(emitted)

    def _slowly(self, schedule: Schedule) -> NDArray[np.uint8]:
        """The same without the core, which knows that something does not fit, but not how to say what."""
        return timing_stream([self._operator], self._hw, [schedule])


def _copied(emitted: Any, hw: HardwareConfig) -> Part:
    sizes = lib.vta_emitted_part_sizes(emitted)
    words = np.empty((sizes.instructions, 2), dtype=np.uint64)
    units, segments = (np.empty(sizes.instructions, dtype=np.int8) for _ in range(2))
    access_ends, ends = np.empty(sizes.instructions, dtype=np.int64), np.empty(sizes.sequences, dtype=np.int64)
    accesses = np.empty((sizes.accesses, len(Access._fields)), dtype=np.int64)
    uops, constants = np.empty((sizes.uops, 3), dtype=np.int64), np.empty((sizes.constants, 3), dtype=np.int64)
    part = ffi.new("vta_part *")
    part.words = ffi.cast("uint64_t *", words.ctypes.data)
    for name, values in (("units", units), ("segments", segments)):
        setattr(part, name, ffi.cast("int8_t *", values.ctypes.data))
    whole = {"access_ends": access_ends, "accesses": accesses, "sequence_ends": ends, "uops": uops, "constants": constants}
    for name, array in whole.items():
        setattr(part, name, ffi.cast("int64_t *", array.ctypes.data))
    lib.vta_emitted_part_copy(emitted, part)
    touches = Touches(units, np.diff(access_ends, prepend=0), accesses)
    sequences = [uops[start:end].tobytes() for start, end in zip(ends - np.diff(ends, prepend=0), ends, strict=True)]
    return part_of_arrays(words, touches, segments, sequences, constants, hw)


def _is_native(operator: GemmOperator) -> bool:
    """Whether the core emits it: no borders, branches, operands by phase, parts of tensors, weights with blocks to leave out, and
    no products that join a tile late.
    """
    plain = all(step.operand.structure in _KINDS and not step.joins_products for step in operator.epilogue)
    parts = any(tensor.container for tensor in (operator.stored, *operator.sources))
    return plain and operator.output_padding is None and not parts and not any(term.sparse for term in operator.terms)


def _native_schedule(operator: GemmOperator, schedule: Schedule, hw: HardwareConfig) -> Any:
    need = resources(operator, schedule, Buffers.of(hw))
    native = ffi.new("vta_emit_schedule *")
    for name, _ in ffi.typeof("vta_emit_schedule").fields:
        setattr(native, name, int(getattr(schedule, name) if hasattr(schedule, name) else getattr(need, name)))
    return native


class _Described:
    """An operator as the core takes it; the C arrays live as long as this."""

    def __init__(self, operator: GemmOperator, addresses: Mapping[str, int]) -> None:
        self._addresses = addresses
        self._sources = {term.source.name: index for index, term in enumerate(operator.terms)}
        levels, steps, ends = list(operator.digits), [], []
        for step in operator.epilogue:
            levels += step.operand.digits
            steps.append(step)
            ends.append(len(levels))
        terms = [self._term(term) for level in levels for term in level.terms]
        self._terms = ffi.new("vta_emit_term[]", terms)
        self._levels = ffi.new("vta_emit_level[]", _level_rows(levels))
        self._steps = ffi.new("vta_emit_step[]", [_step_row(step, end) for step, end in zip(steps, ends, strict=True)])
        out = operator.output
        self.operator = ffi.new("vta_emit_operator *")
        for name in ("batch", "blocks", "height", "width", "planes"):
            setattr(self.operator, name, getattr(out, name))
        self.operator.address = addresses[out.name]
        self.operator.terms, self.operator.levels, self.operator.steps = self._terms, self._levels, self._steps
        self.operator.level_end, self.operator.step_count = len(operator.digits), len(steps)
        self.operator.preload = int(operator.accumulator_init is not None)

    def _term(self, term: GemmTerm) -> dict[str, Any]:
        source = term.source
        return {
            "source": self._sources[source.name],
            "source_blocks": source.blocks,
            "source_height": source.height,
            "source_width": source.width,
            "source_address": self._addresses[source.name],
            "weight_blocks": len(term.weights),
            "diagonal": int(term.diagonal),
            "window": int(term.window is not None),
            "kernel": term.kernel,
            "strides": term.strides,
            "padding": term.padding,
            "dilation": term.dilation,
            "source_dilation": term.source_dilation,
        }


def _level_rows(levels: list[RadixDigit]) -> list[tuple[int, int]]:
    ends = np.cumsum([len(level.terms) for level in levels])
    return [(level.shift, int(end)) for level, end in zip(levels, ends, strict=True)]


def _step_row(step: Step, level_end: int) -> tuple[int, int, int, int]:
    operand = step.operand
    value = operand.value if isinstance(operand, Immediate) else 0
    return _KINDS[operand.structure], int(step.op), value, level_end
