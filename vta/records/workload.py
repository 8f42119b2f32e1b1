"""What a task is called: the operator's name and arguments, in the form of the published tuning records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.errors import TuningError
from vta.isa.instruction import AluOp
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm
from vta.tile.operator import Tensor

__all__ = ["TASK_NAMES", "Workload", "tensor_argument", "workload_of"]

TASK_NAMES = (
    "conv2d_packed.vta",
    "group_conv2d_packed.vta",
    "conv2d_transpose_packed.vta",
    "group_conv2d_transpose_packed.vta",
    "dense_packed.vta",
    "add.vta",
    "multiply.vta",
    "elementwise.vta",
    "sum_pool2d.vta",
)
"""Tasks that the compiler has a template for."""

Argument = Any
"""A string, number or None, or a tuple of arguments; a tensor is ``("TENSOR", shape, dtype)``."""


@dataclass(frozen=True)
class Workload:
    """An operator with its shapes, as records name it."""

    name: str
    args: tuple[Argument, ...]

    @property
    def tensors(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the tensor arguments."""
        return tuple(arg[1] for arg in self.args if isinstance(arg, tuple) and arg[:1] == ("TENSOR",))

    @property
    def identity(self) -> str:
        """A short name without spaces, e.g. ``conv2d_packed.vta:1x4x56x56x1x16:4x4x3x3x16x16:1x1:1x1x1x1:1x1``."""
        parts = [self.name]
        for arg in self.args:
            if isinstance(arg, tuple):
                sizes = arg[1] if arg[:1] == ("TENSOR",) else arg
                parts.append("x".join(map(str, sizes)) or "scalar")
            elif isinstance(arg, int):
                parts.append(f"g{arg}")
        return ":".join(parts)

    def to_json(self) -> list[Argument]:
        """Name and arguments as JSON values."""
        return [self.name, _as_lists(self.args)]

    @classmethod
    def from_json(cls, name: Any, args: Any) -> Workload:
        """Rebuild a workload from JSON values. Raises `TuningError` if they are none."""
        if not isinstance(name, str) or not isinstance(args, (list, tuple)):
            raise TuningError(f"a workload is a name and a list of arguments, got {name!r} and {args!r}")
        return cls(name, _as_tuples(args))


def tensor_argument(shape: Iterable[int], dtype: str) -> tuple[str, tuple[int, ...], str]:
    """A tensor as an argument of a workload."""
    return "TENSOR", tuple(int(size) for size in shape), dtype


def workload_of(operator: GemmOperator, hw: HardwareConfig) -> Workload:
    """Name the workload of an operator as it stands before its rows and columns are flattened."""
    if operator.kind == "sum_pool2d":
        term = next(term for digit in operator.digits for term in digit.terms if term.window)
        shape = _packed_shape(term.source, hw)
        kernel = term.kernel[0], term.kernel[1] * term.taps
        return Workload("sum_pool2d.vta", (tensor_argument(shape, "int8"), kernel, term.strides, _padding(term, operator)))
    if operator.kind in ("conv2d", "conv2d_transpose", "dense"):
        term = next(term for digit in operator.digits for term in digit.terms if not term.is_transfer)
        return _product_workload(operator, term, hw)
    return _elementwise_workload(operator, hw)


def _product_workload(operator: GemmOperator, term: GemmTerm, hw: HardwareConfig) -> Workload:
    data = _packed_shape(term.source, hw)
    kernel = term.weights.shape
    if term.taps > 1:
        kernel = (*kernel[:3], term.taps, *kernel[4:])
    image = data[2:4] == (1, 1) and kernel[2:4] == (1, 1)
    if operator.kind == "dense" and image:
        shapes = (*data[:2], *data[4:]), (*kernel[:2], *kernel[4:])
        return Workload("dense_packed.vta", (*(tensor_argument(shape, "int8") for shape in shapes), None, "int32"))
    if term.groups > 1:
        kernel = (kernel[0], kernel[1] if term.diagonal else max(1, kernel[1] // term.groups), *kernel[2:])
    if operator.kind == "conv2d_transpose":
        return _transposed_workload(operator, term, data, kernel)
    geometry = (term.strides, _padding(term, operator), term.dilation)
    if term.groups > 1:
        tensors = (tensor_argument(data, "int8"), tensor_argument(kernel, "int8"))
        return Workload("group_conv2d_packed.vta", (*tensors, *geometry, term.groups, "int32"))
    tensors = (tensor_argument(data, "int8"), tensor_argument(kernel, "int8"))
    return Workload("conv2d_packed.vta", (*tensors, *geometry, f"NCHW{hw.batch}n{hw.block}c", "int32"))


def _transposed_workload(operator: GemmOperator, term: GemmTerm, data: tuple[int, ...], kernel: tuple[int, ...]) -> Workload:
    """Published records know neither groups nor dilation: a layer with them has a name of its own."""
    padding, extra = _cut(term, operator)
    tensors = (tensor_argument(data, "int8"), tensor_argument(kernel, "int8"))
    if term.groups > 1 or term.dilation != (1, 1):
        geometry = (term.source_dilation, padding, term.dilation, term.groups)
        return Workload("group_conv2d_transpose_packed.vta", (*tensors, *geometry, "int32", extra))
    return Workload("conv2d_transpose_packed.vta", (*tensors, term.source_dilation, padding, "int32", extra))


def _cut(term: GemmTerm, operator: GemmOperator) -> tuple[tuple[int, int, int, int], tuple[int, int]]:
    """Padding and output padding of a transposed convolution: as symmetric as the size of its output allows."""
    before, after, added = [], [], []
    for axis, (extent, size) in enumerate(
        ((operator.output.height, term.source.height), (operator.output.width, term.source.width))
    ):
        span = (term.kernel[axis] - 1) * term.dilation[axis]
        before.append(span - term.padding[axis])
        whole = (size - 1) * term.source_dilation[axis] + span + 1
        extra = extent + 2 * before[axis] - whole
        added.append(extra if 0 <= extra < term.source_dilation[axis] else max(0, extent + before[axis] - whole))
        after.append(whole + added[axis] - before[axis] - extent)
    return (before[0], before[1], after[0], after[1]), (added[0], added[1])


def _elementwise_workload(operator: GemmOperator, hw: HardwareConfig) -> Workload:
    tensor = tensor_argument(_packed_shape(operator.output, hw), "int32")
    names = {AluOp.ADD: "add.vta", AluOp.MUL: "multiply.vta"}
    if len(operator.sources) > 1:
        product = any(step.op is AluOp.MUL and step.operand.reads_tensors for step in operator.epilogue)
        return Workload("multiply.vta" if product else "add.vta", (tensor, tensor))
    first = operator.epilogue[0] if operator.epilogue else None
    if first is not None and first.op in names and not first.operand.reads_tensors:
        # A value per channel is as good as one: both are one pass over the tile.
        return Workload(names[first.op], (tensor, tensor_argument((), "int32")))
    if _scales(operator):
        return Workload("multiply.vta", (tensor, tensor_argument((), "int32")))
    return Workload("elementwise.vta", (tensor,))


def _scales(operator: GemmOperator) -> bool:
    """Whether what enters the accumulator is multiplied on its way in."""
    return any((term.weights != np.eye(term.weights.shape[-1])).any() for term in operator.terms) or len(operator.digits) > 1


def _packed_shape(tensor: Tensor, hw: HardwareConfig) -> tuple[int, ...]:
    return tensor.batch, tensor.blocks, tensor.height, tensor.width, hw.batch, hw.block


def _padding(term: GemmTerm, operator: GemmOperator) -> tuple[int, int, int, int]:
    """(top, left, bottom, right): symmetric where that gives the output's size, else what the last window reaches."""
    after = []
    for axis, (extent, size) in enumerate(
        ((operator.output.height, term.source.height), (operator.output.width, term.source.width))
    ):
        before = term.padding[axis]
        span = (term.kernel[axis] - 1) * term.dilation[axis] + term.reach(axis) + 1
        symmetric = (size + 2 * before - span) // term.strides[axis] + 1 == extent
        after.append(before if symmetric else max(0, (extent - 1) * term.strides[axis] + span - size - before))
    return term.padding[0], term.padding[1], after[0], after[1]


def _as_lists(value: Argument) -> Argument:
    return [_as_lists(item) for item in value] if isinstance(value, tuple) else value


def _as_tuples(value: Argument) -> Argument:
    return tuple(_as_tuples(item) for item in value) if isinstance(value, (list, tuple)) else value
