"""An operator that multiplies as the core's template takes it, and the data of the constants that the template makes room for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatchmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.native import pointer_to, tensor_fields
from vta.codegen.stream import Stream
from vta.config.hardware import HardwareConfig
from vta.isa.instruction import REQUANTIZE_TABLE, REQUANTIZE_WIDE
from vta.native import ffi, lib
from vta.schedule.resources import Buffers, Resources, resources
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm, kept_blocks
from vta.tile.operator import Tensor
from vta.tile.step import Branch, Immediate, Join, Operand, PerChannel, Requantization, Step, TensorOperand

__all__ = ["FROM_BOTTOM", "GemmDescription", "Placement", "emit_gemm"]

_CONSTANT_FIELDS = tuple(name for name, _ in ffi.typeof("vta_constant").fields)


@dataclass(frozen=True)
class Placement:
    """Which rows of the buffers an operator takes, and what runs between its tiles."""

    from_top: bool = False
    """The last rows, rather than the first."""
    interleaved: bool = False
    """Tiles of another operator run between its own."""
    padding_base: int = 0
    """The first accumulator row that holds the padding of its output, if there are so many rows from there on."""


FROM_BOTTOM = Placement()


def emit_gemm(stream: Stream, description: GemmDescription, schedule: Schedule, placement: Placement = FROM_BOTTOM) -> None:
    """Emit a whole operator, described as `schedule` lays it out, into `stream`.

    Raises `CompileError` if something does not fit the hardware or an instruction.
    """
    first = stream.constant_count
    scheduled = _native_schedule(description.operator, schedule, stream.hw, placement)
    stream.done(lib.vta_stream_gemm_operator(stream.native, description.native, scheduled))
    if stream.keeps_data:
        stream.constants += [description.constant(row, stream.hw) for row in stream.constants_from(first).tolist()]


class GemmDescription:
    """An operator as the core takes it. The C arrays live as long as this."""

    def __init__(self, operator: GemmOperator, addresses: Mapping[str, int]) -> None:
        """`addresses` gives the arena element where each memory starts."""
        self.operator = operator
        self._addresses = addresses
        self._kept: list[Any] = []
        self._sources = {tensor.name: number for number, tensor in enumerate(operator.sources)}
        epilogue = _Epilogue(len(operator.digits), operator.epilogue)
        padding = operator.output_padding
        self.native = ffi.new(
            "vta_gemm_operator *",
            {
                "output": self._tensor(operator.output),
                "stored": self._tensor(operator.stored),
                "padded": padding is not None,
                "pad_top": padding.top if padding else 0,
                "pad_left": padding.left if padding else 0,
                "pad_value": padding.value if padding else 0,
                "terms": self._array("vta_gemm_term[]", [self._term(term) for term in operator.terms]),
                "digits": self._array("vta_radix_digit[]", self._digits()),
                "steps": self._array("vta_epilogue_step[]", epilogue.rows),
                "term_count": len(operator.terms),
                "digit_end": len(operator.digits),
                "step_count": len(epilogue.rows),
                "accumulator_init": operator.accumulator_init is not None,
                "leaves_zeros": operator.leaves_zeros,
                "looks_up": operator.table is not None,
            },
        )
        """The core's vta_gemm_operator."""

    def constant(self, row: Iterable[int], hw: HardwareConfig) -> NDArray[np.generic]:
        """What a constant of the operator holds, from the fields of its `vta_constant`."""
        place = dict(zip(_CONSTANT_FIELDS, row, strict=True))
        if place["kind"] == lib.VTA_CONSTANT_VECTOR:
            return _vector_rows(self.operator.vectors[place["number"]], self.operator.output.blocks, hw)
        if place["kind"] == lib.VTA_CONSTANT_TABLE:
            assert self.operator.table is not None, "nothing else has such a constant"
            return self.operator.table
        box = tuple(
            slice(place[first], place[first] + place[count])
            for first, count in (("out", "out_count"), ("in", "in_count"), ("kh", "kh_count"), ("kw", "kw_count"))
        )
        weights = self.operator.terms[place["number"]].weights[box]
        return weights[tuple(kept_blocks(weights).T)] if place["kept"] else weights

    def _digits(self) -> list[tuple[int, int]]:
        digits = self.operator.all_digits
        ends = np.cumsum([len(digit.terms) for digit in digits]).tolist()
        return [(digit.shift, end) for digit, end in zip(digits, ends, strict=True)]

    def _term(self, term: GemmTerm) -> dict[str, object]:
        return {
            "source": self._tensor(term.source),
            "source_number": self._sources[term.source.name],
            "weight_blocks": len(term.weights),
            "diagonal": term.diagonal,
            "window": term.window is not None,
            "taps": term.taps,
            "is_transfer": term.is_transfer,
            "kernel": term.kernel,
            "strides": term.strides,
            "padding": term.padding,
            "dilation": term.dilation,
            "source_dilation": term.source_dilation,
            "computed": term.computed is not None,
            "weights": self._tensor(term.computed or term.source),
            "nonzero": self._nonzero(term),
        }

    def _nonzero(self, term: GemmTerm) -> Any:
        if not term.sparse:
            return ffi.NULL
        nonzero = np.ascontiguousarray(term.weights.any(axis=(4, 5)))
        self._kept.append(nonzero)
        return pointer_to(nonzero)

    def _tensor(self, tensor: Tensor) -> tuple[Any, ...]:
        fields = tensor_fields(tensor, self._addresses.get(tensor.memory.name, 0))
        self._kept.append(fields)
        return fields

    def _array(self, kind: str, values: list[Any]) -> Any:
        self._kept.append(ffi.new(kind, values))
        return self._kept[-1]


class _Epilogue:
    """Steps as rows of `vta_epilogue_step`; those of a branch follow it."""

    def __init__(self, digits: int, steps: Iterable[Step]) -> None:
        self.rows: list[dict[str, object]] = []
        self._digits = digits
        for step in steps:
            self._add(step)

    def _add(self, step: Step) -> None:
        row: dict[str, object] = {"op": int(step.op)}
        self.rows.append(row)
        row.update(self._operand(step.operand))

    @singledispatchmethod
    def _operand(self, operand: Operand) -> dict[str, object]:
        raise TypeError(f"the core knows no operand like {operand}")

    @_operand.register
    def _(self, operand: Immediate) -> dict[str, object]:
        return {"kind": lib.VTA_STEP_IMMEDIATE, "imm": operand.value}

    @_operand.register
    def _(self, operand: PerChannel) -> dict[str, object]:
        return {"kind": lib.VTA_STEP_VECTOR, "phases": operand.phases if operand.has_phases else (0, 0)}

    @_operand.register
    def _(self, operand: TensorOperand) -> dict[str, object]:
        self._digits += len(operand.digits)
        for step in operand.steps:
            self._add(step)
        return {"kind": lib.VTA_STEP_TENSOR, "end": self._digits, "step_end": len(self.rows) if operand.steps else 0}

    @_operand.register
    def _(self, operand: Requantization) -> dict[str, object]:
        flags = REQUANTIZE_WIDE if operand.wide else REQUANTIZE_TABLE if operand.table is not None else 0
        return {"kind": lib.VTA_STEP_REQUANTIZE, "imm": flags}

    @_operand.register
    def _(self, operand: Branch) -> dict[str, object]:
        for step in operand.steps:
            self._add(step)
        return {"kind": lib.VTA_STEP_BRANCH, "end": len(self.rows), "slot": operand.slot, "copy_elided": operand.copy_elided}

    @_operand.register
    def _(self, operand: Join) -> dict[str, object]:
        return {"kind": lib.VTA_STEP_JOIN, "slot": operand.slot}


def _vector_rows(values: NDArray[np.int64], blocks: int, hw: HardwareConfig) -> NDArray[np.generic]:
    """A per-channel constant, each block repeated for every row of BATCH."""
    channels = np.zeros(blocks * hw.block, dtype=np.int64)
    channels[: len(values)] = values
    rows = np.repeat(channels.reshape(blocks, 1, hw.block), hw.batch, axis=1)
    return rows.astype(f"<i{hw.acc_bits // 8}")


def _bases(schedule: Schedule, need: Resources[int], buffers: Buffers, placement: Placement) -> tuple[int, int, int]:
    """The first rows of input, weights and accumulators."""
    if not placement.from_top:
        return 0, 0, 0
    return (
        buffers.inp - schedule.inp_slots * need.inp_slot,
        buffers.wgt - schedule.wgt_slots * need.wgt_slot - need.wgt_fixed,
        buffers.acc - schedule.acc_slots * need.acc_slot - need.vectors,
    )


def _native_schedule(operator: GemmOperator, schedule: Schedule, hw: HardwareConfig, placement: Placement) -> Any:
    buffers = Buffers.of(hw)
    need = resources(operator, schedule, buffers)
    return ffi.new(
        "vta_gemm_schedule *",
        (
            schedule.tile_co,
            schedule.tile_h,
            schedule.tile_w,
            schedule.tile_ci,
            schedule.tile_kh,
            schedule.tile_kw,
            schedule.inp_slots,
            schedule.wgt_slots,
            schedule.acc_slots,
            schedule.weights_outer,
            schedule.skip_padding,
            need.inp_slot,
            need.wgt_slot,
            need.wgt_fixed,
            need.acc_tile,
            need.acc_slot,
            need.vectors,
            need.vectors_whole,
            *_bases(schedule, need, buffers, placement),
            placement.padding_base,
            placement.interleaved,
        ),
    )
