"""Parses the text of the tile level.

    region "NAME" {
      tensor %NAME : BATCHxBLOCKSxHEIGHTxWIDTH [planes=4] [in %NAME first_block=N]        one a tensor, containers first
      inputs %NAME ...
      outputs %NAME ...
      gemm KIND "NAME" [macs=N] { GEMM }
      KIND "NAME" [macs=N] { read %NAME  [with ATTRIBUTE=VALUE ...]  [CONSTANT ARRAY ...]  store %NAME }
    }
    GEMM:   [init ARRAY]  DIGIT ...  STEP ...  store %NAME  [padding %NAME top=N left=N value=N]  [schedule FIELD=N ...]
    DIGIT:  digit [shift=N] { dot %NAME ARRAY [by %NAME] [diagonal] [strides=NxN] ...  ... }
    STEP:   OP N | OP ARRAY | OP products { DIGIT ... STEP ... } | OP branch slot=N [elided] { STEP ... } | OP join slot=N
            | requantize ARRAY ARRAY ARRAY [wide | table ARRAY]
    ARRAY:  i8[SHAPE]#DIGEST or i64[SHAPE]#DIGEST

Two slashes begin a comment. Values of arrays are not in the text: a mapping from digest to array may give them back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vta.isa.instruction import AluOp
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator, OutputPadding
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import RegionOperators, Tensor, TileOperator
from vta.tile.registry import template_kinds
from vta.tile.single_source import SingleSourceOperator
from vta.tile.step import Branch, Immediate, Join, Operand, PerChannel, Requantization, Step, TensorOperand
from vta.tile.text.constants import UnknownConstant
from vta.tile.text.tokens import Token, Tokens

__all__ = ["ParsedOperators", "parse_operators"]

_OPS = {op.name.lower(): op for op in AluOp}
_DTYPES: dict[str, type[np.int8] | type[np.int64]] = {"i8": np.int8, "i64": np.int64}
_LEAST: dict[str, int | None] = {"padding": None, "strides": 0}
_MOST_DIMS = 6
_PLANES_DIMS = 4
_DEEPEST = 64
"""Branches within branches."""

Arrays = Mapping[str, NDArray[Any]]
Numbers = tuple[int, ...]


@dataclass(frozen=True)
class ParsedOperators:
    """What a text says."""

    region: RegionOperators
    schedules: tuple[dict[str, int] | None, ...]
    """By operator: the fields of its schedule, None where the text has none."""


def parse_operators(text: str, constants: Arrays | None = None, source: str = "tile text") -> ParsedOperators:
    """Parse what `print_operators` prints. `constants` are arrays by digest; those that it lacks are `UnknownConstant`.

    Raises `TileTextError` naming `source`, the line and column, what is there, and what may be.
    """
    return _Parser(Tokens(text, source), constants or {}).region()


class _Parser:
    def __init__(self, tokens: Tokens, constants: Arrays) -> None:
        self._tokens = tokens
        self._constants = constants
        self._tensors: dict[str, Tensor] = {}
        self._depth = 0

    def region(self) -> ParsedOperators:
        self._tokens.take_text("region")
        name = self._string()
        self._tokens.take_text("{")
        while self._tokens.accept("tensor"):
            self._tensor()
        inputs, outputs = self._names("inputs"), self._names("outputs")
        operators, schedules = [], []
        while not self._tokens.accept("}"):
            operator, schedule = self._operator()
            operators.append(operator)
            schedules.append(schedule)
        self._tokens.take_kind("end", "the end of the text")
        return ParsedOperators(RegionOperators(name, tuple(operators), inputs, outputs), tuple(schedules))

    def _tensor(self) -> None:
        at = self._tokens.next
        name = self._name()
        if name in self._tensors:
            self._tokens.fail("a name that no tensor has yet", at)
        self._tokens.take_text(":")
        batch, blocks, height, width = self._sizes(4, "4 sizes above 0: batch, channel blocks, rows and columns")
        planes = self._option("planes", least=1) if self._tokens.next.text == "planes" else 1
        container, first_block = None, 0
        if self._tokens.accept("in"):
            container = self._known()
            first_block = self._option("first_block", least=0)
        self._tensors[name] = Tensor(name, batch, blocks, height, width, planes, container, first_block)

    def _names(self, word: str) -> tuple[Tensor, ...]:
        self._tokens.take_text(word)
        return tuple(self._while("tensor", self._known))

    def _operator(self) -> tuple[TileOperator, dict[str, int] | None]:
        if self._tokens.accept("gemm"):
            kind = self._tokens.take_kind("word", "a kind of operator").text
            name, macs = self._string(), self._macs()
            return self._gemm(kind, name, macs)
        kinds = template_kinds()
        kind = self._tokens.take_text("gemm", *kinds, "}").text
        name, macs = self._string(), self._macs()
        return self._single_source(kinds[kind], kind, name, macs), None

    def _single_source(self, of: type[SingleSourceOperator], kind: str, name: str, macs: int) -> TileOperator:
        self._tokens.take_text("{")
        self._tokens.take_text("read")
        source = self._known()
        attributes: dict[str, int | Numbers] = {}
        types = {field.name: 1 if field.type == "int" else 2 for field in fields(of) if field.name in of.attribute_names()}
        if types:
            self._tokens.take_text("with")
        for attribute, count in types.items():
            values = self._numbers_of(attribute, count)
            attributes[attribute] = values if count > 1 else values[0]
        constants = dict[str, NDArray[Any]]()
        for constant in of.constant_names():
            self._tokens.take_text(constant)
            dtype = of.constant_types()[constant]
            constants[constant] = self._array(dtype, (_PLANES_DIMS if dtype == "i8" else 1,))
        self._tokens.take_text("store")
        output = self._known()
        self._tokens.take_text("}")
        make = cast(Callable[..., TileOperator], of)
        return make(name=name, kind=kind, source=source, output=output, macs=macs, **attributes, **constants)

    def _gemm(self, kind: str, name: str, macs: int) -> tuple[GemmOperator, dict[str, int] | None]:
        self._tokens.take_text("{")
        init = self._array("i64", (1,)) if self._tokens.accept("init") else None
        digits = self._digits()
        at = self._tokens.next
        if not any(digit.terms for digit in digits):
            self._tokens.fail("'digit' with a 'dot'", at)
        epilogue = self._steps("store")
        self._tokens.take_text("store")
        output = self._known()
        padding = self._padding() if self._tokens.accept("padding") else None
        schedule = self._schedule() if self._tokens.accept("schedule") else None
        self._tokens.take_text("}")
        operator = GemmOperator(
            name=name,
            kind=kind,
            output=output,
            macs=macs,
            digits=digits,
            epilogue=epilogue,
            accumulator_init=init,
            output_padding=padding,
        )
        return operator, schedule

    def _digits(self) -> tuple[RadixDigit, ...]:
        digits = []
        while self._tokens.accept("digit"):
            shift = self._option("shift", least=0) if self._tokens.next.text == "shift" else 0
            self._tokens.take_text("{")
            terms = []
            while self._tokens.accept("dot"):
                terms.append(self._term())
            self._tokens.take_text("}")
            digits.append(RadixDigit(shift, tuple(terms)))
        return tuple(digits)

    def _term(self) -> GemmTerm:
        source = self._known()
        weights = self._array("i8", (_MOST_DIMS,))
        computed = self._known() if self._tokens.accept("by") else None
        flags = dict.fromkeys(("diagonal", "transfer"), False)
        pairs: dict[str, Numbers] = dict.fromkeys(("strides", "dilation", "source_dilation"), (1, 1))
        pairs.update(padding=(0, 0), window=())
        groups, taps, sparse = 1, 1, False
        while self._tokens.next.text not in ("dot", "}"):
            token = self._tokens.next
            if token.text in flags:
                flags[self._tokens.take().text] = True
            elif token.text in pairs:
                pairs[token.text] = self._numbers_of(token.text, 2, least=_LEAST.get(token.text, 1))
            elif token.text == "groups":
                groups = self._option("groups", least=1)
            elif token.text == "taps":
                taps = self._option("taps", least=1)
            elif token.text == "kept":
                sparse, kept = True, self._option("kept", least=0)
                if isinstance(weights, UnknownConstant):
                    weights.kept = kept
            else:
                self._tokens.take_text(*flags, *pairs, "groups", "taps", "kept", "dot", "}")
        window = pairs.pop("window")
        geometry = {name: (pair[0], pair[1]) for name, pair in pairs.items()}
        return GemmTerm(
            source,
            weights,
            diagonal=flags["diagonal"],
            window=(window[0], window[1]) if window else None,
            groups=groups,
            taps=taps,
            sparse=sparse,
            computed=computed,
            is_transfer=flags["transfer"],
            **geometry,
        )

    def _steps(self, *ends: str) -> tuple[Step, ...]:
        steps = []
        while self._tokens.next.text in _OPS:
            op = _OPS[self._tokens.take().text]
            steps.append(Step(op, self._requantization() if op is AluOp.REQUANTIZE else self._operand()))
        if self._tokens.next.text not in ends:
            self._tokens.take_text(*_OPS, *ends)
        return tuple(steps)

    def _requantization(self) -> Requantization:
        bias, multiplier, control = (self._array("i64", (1,)) for _ in range(3))
        wide = self._tokens.accept("wide")
        table = self._array("i8", (1,)) if not wide and self._tokens.accept("table") else None
        return Requantization(bias=bias, multiplier=multiplier, control=control, wide=wide, table=table)

    def _operand(self) -> Operand:
        token = self._tokens.next
        if token.kind == "dims" and len(token.numbers) == 1:
            return Immediate(self._tokens.take().numbers[0])
        if token.text == "i64":
            return PerChannel(self._array("i64", (1, 3)))
        if self._tokens.accept("join"):
            return Join(self._option("slot", least=0))
        if self._tokens.accept("products"):
            self._tokens.take_text("{")
            digits = self._digits()
            steps = self._steps("}")
            self._tokens.take_text("}")
            return TensorOperand(digits, steps)
        if self._tokens.accept("branch"):
            return self._branch()
        return self._tokens.fail("a whole number, 'i64', 'products', 'branch', 'join'")

    def _branch(self) -> Branch:
        slot, elided = self._option("slot", least=0), self._tokens.accept("elided")
        self._depth += 1
        if self._depth > _DEEPEST:
            self._tokens.fail(f"at most {_DEEPEST} branches within each other")
        self._tokens.take_text("{")
        steps = self._steps("}")
        self._tokens.take_text("}")
        self._depth -= 1
        return Branch(steps, slot, elided)

    def _padding(self) -> OutputPadding:
        stored = self._known()
        return OutputPadding(stored, self._option("top", least=0), self._option("left", least=0), self._option("value"))

    def _schedule(self) -> dict[str, int]:
        schedule: dict[str, int] = {}
        while self._tokens.next.kind == "word":
            at = self._tokens.next
            if at.text in schedule:
                self._tokens.fail("each field once", at)
            schedule[at.text] = self._option(at.text)
        return schedule

    def _array(self, dtype: str, ranks: Iterable[int]) -> NDArray[Any]:
        at = self._tokens.take_text(dtype)
        self._tokens.take_text("[")
        place = self._tokens.next
        shape = self._tokens.take_kind("dims", "a shape").numbers
        if len(shape) not in ranks or min(shape) < 1:
            self._tokens.fail(f"{' or '.join(map(str, ranks))} sizes above 0", place)
        self._tokens.take_text("]")
        digest = self._tokens.take_kind("digest", "'#' and the 12 hexadecimal digits of a digest")
        return self._constant(at, shape, _DTYPES[dtype], digest.text[1:])

    def _constant(self, at: Token, shape: Numbers, dtype: type[np.int8] | type[np.int64], digest: str) -> NDArray[Any]:
        if digest in self._constants:
            values = self._constants[digest]
            if values.shape != shape or values.dtype != dtype:
                found = f"{values.dtype.name} of shape {'x'.join(map(str, values.shape))}"
                self._tokens.fail(f"what the constant of this digest is, {found}", at)
            return values
        try:
            return UnknownConstant.of(shape, dtype, digest)
        except ValueError as error:
            return self._tokens.fail(f"a smaller array ({error})", at)

    def _macs(self) -> int:
        return self._option("macs", least=0) if self._tokens.next.text == "macs" else 0

    def _option(self, name: str, least: int | None = None) -> int:
        return self._numbers_of(name, 1, least)[0]

    def _numbers_of(self, name: str, count: int, least: int | None = None) -> Numbers:
        """The numbers of ``name=NUMBERS``."""
        self._tokens.take_text(name)
        self._tokens.take_text("=")
        limit = "" if least is None else f" of at least {least}"
        return self._sizes(count, f"{'a whole number' if count == 1 else f'{count} whole numbers'}{limit}", least)

    def _sizes(self, count: int, allowed: str, least: int | None = 1) -> Numbers:
        at = self._tokens.next
        numbers = self._tokens.take_kind("dims", allowed).numbers
        if len(numbers) != count or (least is not None and min(numbers) < least):
            self._tokens.fail(allowed, at)
        return numbers

    def _known(self) -> Tensor:
        at = self._tokens.next
        found = self._tensors.get(self._name())
        return found if found is not None else self._tokens.fail("a tensor that is declared above", at)

    def _name(self) -> str:
        return self._said(self._tokens.take_kind("tensor", "'%' and the name of a tensor"))

    def _string(self) -> str:
        return self._said(self._tokens.take_kind("string", "a name in quotes"))

    def _said(self, token: Token) -> str:
        try:
            return token.name
        except ValueError:
            return self._tokens.fail("a string with the escapes of JSON", token)

    def _while(self, kind: str, read: Callable[[], Tensor]) -> list[Tensor]:
        found = []
        while self._tokens.next.kind == kind:
            found.append(read())
        return found
