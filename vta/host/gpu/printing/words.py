"""Four bytes as one word: how they are stored together, and how threads multiply matrices of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vta.host.gpu.printing.aligned import is_aligned
from vta.host.gpu.printing.dialects import Dialect
from vta.host.gpu.printing.expressions import ExpressionPrinter, expression_reads, position_of
from vta.host.loop.expression import Const, Expr, Load, Select, Var, binary, substitute, walk
from vta.host.loop.expression import index as number
from vta.host.loop.nest import If, Let, Loop, Statement, Store
from vta.host.loop.tensor import Lanes, TensorProduct, linear_position, tensor_product
from vta.support.dataclass import dataclass

__all__ = ["WordPrinter", "stored_word"]

_BYTES = 4
_LANE_ROWS = 8
"""Threads along y of those that multiply matrices together."""


def stored_word(statement: Statement) -> Loop | None:
    """The loop that stores four bytes beside each other, where a statement is nothing else but names and tests of it."""
    match statement:
        case Let(body=body) | If(body=body):
            return stored_word(body)
        case Loop(kind="vectorized", extent=4, body=Store(accumulate=None) as store) if store.buffer.dtype == "int8":
            return statement if is_aligned(position_of(store.buffer, store.indices), statement) else None
        case Loop(kind="vectorized", body=If(condition, body)) if not _depends(condition, statement.variable):
            return stored_word(Loop(statement.variable, statement.extent, "vectorized", body))
        case _:
            return None


@dataclass(frozen=True)
class WordPrinter:
    """Writes statements on words."""

    dialect: Dialect
    expressions: ExpressionPrinter
    write: Callable[[str], None]

    def store(self, loop: Loop, tests: Sequence[Expr]) -> None:
        """Write a loop that `stored_word` has found, where all tests hold.

        Bytes that are chosen by their place are loaded without a branch, from the first place where theirs is not to be loaded:
        so a thread can load for several words before it stores the first.
        """
        store = loop.body
        assert isinstance(store, Store)
        value = store.value
        choice = value if isinstance(value, Select) and _is_chosen_load(value, loop) else None
        self.write("{")
        self.expressions.started(*tests, *([] if choice is None else [choice.condition]))
        inside = self._all(tests, "inside")
        chosen = inside if choice is None else self._all([choice.condition], "chosen", inside)
        wanted = value if choice is None else choice.then
        word = self._loaded(loop, wanted, chosen) if isinstance(wanted, Load) else self._computed(loop, wanted, inside)
        if choice is not None:
            other = self._joined([self.expressions.text(choice.otherwise)] * _BYTES)
            self.write(f"if (!{chosen}) {word} = {other};")
        self.expressions.started()
        place = self.expressions.text(_first(position_of(store.buffer, store.indices), loop))
        target = f"{self.expressions.buffers[store.buffer]} + {place}"
        self.write(f"{f'if ({inside}) ' if inside else ''}{self.dialect.bytes_store.format(target=target, value=word)}")
        self.write("}")

    def _all(self, conditions: Sequence[Expr], name: str, before: str = "") -> str:
        texts = [*([before] if before else []), *(self.expressions.text(item) for item in conditions)]
        if texts:
            self.write(f"const bool {name} = {' && '.join(texts)};")
        return name if texts else ""

    def _loaded(self, loop: Loop, value: Load, chosen: str) -> str:
        position = position_of(value.buffer, value.indices)
        buffer = self.expressions.buffers[value.buffer]
        is_word = is_aligned(position, loop)
        places = [substitute(position, {loop.variable: number(at)}) for at in range(1 if is_word else _BYTES)]
        self.expressions.started(*places)
        texts = [f"{chosen} ? {self.expressions.text(place)} : 0" if chosen else self.expressions.text(place) for place in places]
        word = f"four_bytes({buffer} + ({texts[0]}))" if is_word else self._joined([f"{buffer}[{text}]" for text in texts])
        self.write(f"{self.dialect.bytes_type} word = {word};")
        return "word"

    def _computed(self, loop: Loop, value: Expr, inside: str) -> str:
        self.write(f"{self.dialect.bytes_type} word;")
        if inside:
            self.write(f"if ({inside}) {{")
        values = [substitute(value, {loop.variable: number(at)}) for at in range(_BYTES)]
        self.expressions.started(*values)
        self.write(f"word = {self._joined([self.expressions.text(item) for item in values])};")
        if inside:
            self.write("}")
        return "word"

    def _joined(self, texts: Sequence[str]) -> str:
        return self.dialect.bytes_joined.format(values=", ".join(texts))

    def matrix_product(self, loop: Loop, lanes: Lanes) -> None:
        """Write the products of matrices that 32 threads compute together: see `vta.host.loop.tensor`."""
        product = tensor_product(loop, lanes)
        self.expressions.started()
        # Of the columns a thread brings the one that its place among eight rows says.
        lane = binary("mod", Var(lanes.row), number(_LANE_ROWS))
        others = {lanes.column: binary("floordiv", lane, number(2)), product.column: binary("mod", lane, number(2))}
        self.write("{")
        rows = self._rows(product, lanes)
        columns = [self._word(product, product.columns, lanes, half, others) for half in range(2)]
        sums = [
            self.expressions.place(
                product.target.buffer,
                tuple(substitute(at, {product.row: number(i), product.column: number(j)}) for at in product.target.indices),
            )
            for i in range(2)
            for j in range(2)
        ]
        self.write(f"add_matrix_product({', '.join((*sums, *rows, *columns))});")
        self.write("}")

    def _rows(self, product: TensorProduct, lanes: Lanes) -> list[str]:
        """The four words of rows that a thread brings, by two loads where rows lie beside each other."""
        if not _are_neighbors(product):
            return [self._word(product, product.rows, lanes, half, {product.row: number(at)}) for half in (0, 1) for at in (0, 1)]
        for half in range(2):
            place = self._word(product, product.rows, lanes, half, {product.row: number(0)}, "eight_bytes")
            self.write(f"const int2 rows{half} = {place};")
        return [f"rows{half}.{part}" for half in range(2) for part in "xy"]

    def _word(
        self,
        product: TensorProduct,
        operand: Load,
        lanes: Lanes,
        half: int,
        values: Mapping[str, Expr],
        how: str = "four_bytes",
    ) -> str:
        """Four bytes of an operand: a thread brings the word that its place along x says, of either half of eight."""
        word = binary("add", Var(lanes.column), number(_BYTES * half))
        position = linear_position(operand).expression()
        place = substitute(position, {**values, product.word: word, product.byte: number(0)})
        return f"{how}({self.expressions.buffers[operand.buffer]} + {self.expressions.text(place)})"


def _first(position: Expr, loop: Loop) -> Expr:
    return substitute(position, {loop.variable: number(0)})


def _is_chosen_load(value: Select, loop: Loop) -> bool:
    """Whether all bytes are loaded, or none is, by their place alone."""
    condition = value.condition
    return (
        isinstance(value.then, Load)
        and isinstance(value.otherwise, Const)
        and not expression_reads(condition)
        and not _depends(condition, loop.variable)
    )


def _are_neighbors(product: TensorProduct) -> bool:
    """Whether the words of two rows lie beside each other, from a multiple of eight bytes on."""
    position = linear_position(product.rows)
    factors = [factor for name, factor in position.factors.items() if name not in (product.row, product.byte)]
    return position.factors[product.row] == _BYTES and all(part % (2 * _BYTES) == 0 for part in (position.constant, *factors))


def _depends(expression: Expr, variable: str) -> bool:
    return any(isinstance(node, Var) and node.name == variable for node in walk(expression))
