"""Prints the operators of a region, with what others have to say of each: see `vta.tile.text.parser` for the grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import RegionOperators, Tensor, TileOperator
from vta.tile.single_source import SingleSourceOperator
from vta.tile.step import Branch, Immediate, Join, PerChannel, Requantization, Step, TensorOperand
from vta.tile.text.constants import digest_of, kept_of

__all__ = ["Remarks", "print_operators"]

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.$/:+-]+")
_INDENT = "  "

Value = int | bool | tuple[int, int]


@dataclass(frozen=True)
class Remarks:
    """What is said of an operator besides what it is."""

    schedule: Mapping[str, int] | None = None
    """By field; None: it has none."""
    comments: Sequence[str] = ()


def print_operators(region: RegionOperators, remarks: Sequence[Remarks] = (), comments: Sequence[str] = ()) -> str:
    """The text of a region: its tensors, then its operators in program order, each with its remarks if there are any.

    Raises `ValueError` if different tensors of the region have one name.
    """
    lines = [f"// {comment}" for comment in comments]
    lines.append(f"region {json.dumps(region.name)} {{")
    lines += [_INDENT + _declared(tensor) for tensor in _tensors(region)]
    lines += [_INDENT + _list("inputs", region.inputs), _INDENT + _list("outputs", region.outputs)]
    for operator, remark in zip(region.operators, remarks or [Remarks()] * len(region.operators), strict=True):
        lines += ["", *(_INDENT + line for line in _operator(operator, remark))]
    return "\n".join(line.rstrip() for line in (*lines, "}")) + "\n"


def _tensors(region: RegionOperators) -> list[Tensor]:
    """Every tensor, those before that others lie in."""
    found: dict[str, Tensor] = {}
    named = [*region.inputs, *region.outputs]
    for operator in region.operators:
        named += [*operator.tensors, operator.output]
    for tensor in named:
        for each in (tensor.memory, tensor):
            if found.setdefault(each.name, each) != each:
                raise ValueError(f"two tensors are called {each.name}")
    return list(found.values())


def _declared(tensor: Tensor) -> str:
    text = f"tensor {_name(tensor)} : {_dims((tensor.batch, tensor.blocks, tensor.height, tensor.width))}"
    text += f" planes={tensor.planes}" if tensor.planes != 1 else ""
    return text if tensor.container is None else f"{text} in {_name(tensor.container)} first_block={tensor.first_block}"


def _operator(operator: TileOperator, remarks: Remarks) -> Iterator[str]:
    gemm = operator.scheduled
    head = f"{'gemm ' if gemm is not None else ''}{operator.kind} {json.dumps(operator.name)}"
    yield head + (f" macs={operator.macs} {{" if operator.macs else " {")
    yield from (f"{_INDENT}// {comment}" for comment in remarks.comments)
    body = _gemm(gemm) if gemm is not None else _single_source(operator)
    yield from (_INDENT + line for line in body)
    if remarks.schedule is not None:
        yield f"{_INDENT}schedule {_options(remarks.schedule)}"
    yield "}"


def _single_source(operator: TileOperator) -> Iterator[str]:
    assert isinstance(operator, SingleSourceOperator), "operators without a schedule read one tensor"
    yield f"read {_name(operator.source)}"
    if operator.attributes:
        yield f"with {_options(operator.attributes)}"
    for name, values in operator.constants.items():
        yield f"{name} {_array(values)}"
    yield f"store {_name(operator.output)}"


def _gemm(operator: GemmOperator) -> Iterator[str]:
    if operator.accumulator_init is not None:
        yield f"init {_array(operator.accumulator_init)}"
    for digit in operator.digits:
        yield from _digit(digit)
    for step in operator.epilogue:
        yield from _step(step)
    yield f"store {_name(operator.output)}"
    padding = operator.output_padding
    if padding is not None:
        yield f"padding {_name(padding.stored)} top={padding.top} left={padding.left} value={padding.value}"


def _digit(digit: RadixDigit) -> Iterator[str]:
    yield f"digit {_options({'shift': digit.shift} if digit.shift else {})}".rstrip() + " {"
    yield from (_INDENT + _term(term) for term in digit.terms)
    yield "}"


def _term(term: GemmTerm) -> str:
    options: dict[str, Value] = {
        "diagonal": term.diagonal,
        "strides": term.strides,
        "padding": term.padding,
        "dilation": term.dilation,
        "window": term.window or (0, 0),
        "source_dilation": term.source_dilation,
        "groups": term.groups,
        "taps": term.taps,
        "transfer": term.is_transfer,
        "kept": kept_of(term) if term.sparse else False,
    }
    pairs: dict[str, Value] = dict.fromkeys(("strides", "dilation", "source_dilation"), (1, 1))
    usual = {**pairs, **dict.fromkeys(("padding", "window"), (0, 0)), "groups": 1, "taps": 1}
    said = {name: value for name, value in options.items() if value is not False and value != usual.get(name)}
    computed = "" if term.computed is None else f"by {_name(term.computed)} "
    return f"dot {_name(term.source)} {_array(term.weights)} {computed}{_options(said)}".rstrip()


def _step(step: Step) -> Iterator[str]:
    op = step.op.name.lower()
    match step.operand:
        case Immediate(value):
            yield f"{op} {value}"
        case PerChannel(values):
            yield f"{op} {_array(values)}"
        case Join(slot):
            yield f"{op} join slot={slot}"
        case TensorOperand(digits, steps):
            yield f"{op} products {{"
            yield from (_INDENT + line for digit in digits for line in _digit(digit))
            yield from (_INDENT + line for inner in steps for line in _step(inner))
            yield "}"
        case Requantization() as operand:
            table = "" if operand.table is None else f" table {_array(operand.table)}"
            yield " ".join((op, *map(_array, operand.vectors))) + (" wide" if operand.wide else table)
        case Branch(steps, slot, elided):
            yield f"{op} branch slot={slot}{' elided' if elided else ''} {{"
            yield from (_INDENT + line for inner in steps for line in _step(inner))
            yield "}"


def _array(values: NDArray[Any]) -> str:
    return f"{'i8' if values.dtype.itemsize == 1 else 'i64'}[{_dims(values.shape)}]#{digest_of(values)}"


def _options(options: Mapping[str, Value]) -> str:
    return " ".join(name if value is True else f"{name}={_value(value)}" for name, value in options.items())


def _value(value: Value) -> str:
    return _dims(value) if isinstance(value, tuple) else str(int(value))


def _dims(sizes: Iterable[int]) -> str:
    return "x".join(map(str, sizes))


def _list(word: str, tensors: Iterable[Tensor]) -> str:
    return " ".join((word, *map(_name, tensors)))


def _name(tensor: Tensor) -> str:
    return "%" + (tensor.name if _PLAIN_NAME.fullmatch(tensor.name) else json.dumps(tensor.name))
