"""Loop nests with block and thread axes as OpenCL C and CUDA C."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from vta.host.gpu.dialects import Dialect
from vta.host.gpu.expressions import ExpressionPrinter, expression_reads, position_of
from vta.host.gpu.functions import functions_text
from vta.host.gpu.ranges import Range, range_of
from vta.host.loop.affine import Affine, affine_of
from vta.host.loop.buffer import Buffer
from vta.host.loop.errors import LoopError
from vta.host.loop.expression import Binary, Cast, Expr, Load, Select, Var, binary, substitute, walk
from vta.host.loop.expression import index as number
from vta.host.loop.grid import Grid, grid_of
from vta.host.loop.nest import Barrier, Block, Function, If, Let, Loop, Program, Statement, Store
from vta.host.loop.tensor import Lanes, TensorProduct, linear_position, tensor_product
from vta.host.loop.virtual import with_real_threads
from vta.support.dataclass import dataclass

__all__ = ["GpuFunction", "GpuSource", "gpu_source"]

_MOST_ELEMENTS = 2**31 - 1
_WORDS = ("float32", "int32")
_VECTORS = (2, 4)
_DOT = 4
_LANE_ROWS = 8
"""Threads along y of those that multiply matrices together."""
_KEYWORDS = frozenset(
    {"constant", "global", "local", "private", "kernel", "half", "char", "short", "long", "int", "float", "double", "max", "min"}
)


@dataclass(frozen=True)
class GpuFunction:
    """A function of a program, as a device calls it."""

    symbol: str
    grid: Grid


@dataclass(frozen=True)
class GpuSource:
    """A program as text."""

    name: str
    text: str
    functions: tuple[GpuFunction, ...]
    """In the order in which they run; each takes pointers to the inputs, the workspace and the output."""
    binary: bytes = b""
    """Machine code, if it has been compiled already."""

    def with_binary(self, binary: bytes) -> GpuSource:
        """The same with its machine code."""
        return replace(self, binary=binary)


def gpu_source(program: Program, dialect: Dialect) -> GpuSource:
    """Print a program. Raises `LoopError` for loops that a GPU has not got, and arrays of more elements than an int counts."""
    real = with_real_threads(program)
    buffers = (*real.inputs, *real.workspace, real.output)
    for buffer in buffers:
        if buffer.nbytes > _MOST_ELEMENTS:
            raise LoopError(f"{buffer.name} has {buffer.nbytes:,} bytes; allowed: {_MOST_ELEMENTS:,}")
    called: set[str] = set()
    bodies, functions = [], []
    for function in real.functions:
        printer = _Printer(real, function, dialect)
        functions.append(GpuFunction(gpu_symbol(real, function), printer.grid))
        bodies.append(printer.function(buffers))
        called |= printer.expressions.functions
    helpers = functions_text(sorted(called), dialect.helper, dialect.bits, dialect.unbits)
    return GpuSource(real.name, "\n".join([dialect.preamble + helpers, *bodies]), tuple(functions))


def gpu_symbol(program: Program, function: Function) -> str:
    """Name of a function in C."""
    return re.sub(r"\W", "_", f"{program.name}_{function.name}")


class _Printer:
    """Writes one function."""

    def __init__(self, program: Program, function: Function, dialect: Dialect) -> None:
        self.program = program
        self.body = function
        self.dialect = dialect
        self.grid = grid_of(function)
        self.lanes = Lanes()
        self.lines: list[str] = []
        self.indent = 1
        own = (*program.inputs, *program.workspace, program.output, *function.shared, *function.local)
        self.expressions = ExpressionPrinter(dialect, {buffer: _name(buffer.name) for buffer in own}, self.write)

    def write(self, line: str) -> None:
        """Add a line."""
        opens, closes = line.endswith("{"), line.startswith("}")
        self.indent -= closes
        self.lines.append("  " * self.indent + line)
        self.indent += opens

    def function(self, buffers: Sequence[Buffer]) -> str:
        """The whole text."""
        x, y, z = self.grid.threads
        head = self.dialect.kernel.format(x=x, y=y, z=z, threads=x * y * z)
        written = {self.program.output, *self.program.workspace}
        pointers = [
            self.dialect.pointer.format(
                const="" if buffer in written else "const ", type=self.dialect.memory_type(buffer.dtype), name=_name(buffer.name)
            )
            for buffer in buffers
        ]
        for buffer in (*self.body.shared, *self.body.local):
            where = f"{self.dialect.shared} " if buffer in self.body.shared else ""
            elements = max(1, buffer.nbytes // _item_bytes(buffer))
            self.write(f"{where}{self.dialect.memory_type(buffer.dtype)} {_name(buffer.name)}[{elements}];")
        self.statement(self.body.body)
        return f"{head} {gpu_symbol(self.program, self.body)}({', '.join(pointers)})\n{{\n" + "\n".join(self.lines) + "\n}\n"

    def statement(self, statement: Statement) -> None:
        """Write one statement."""
        match statement:
            case Store():
                self.store(statement)
            case Loop():
                self.loop(statement)
            case Let():
                self.let(statement)
            case If(condition, body):
                self.expressions.started(condition)
                self.write(f"if ({self.expressions.text(condition)}) {{")
                self.statement(body)
                self.write("}")
            case Barrier():
                self.write(self.dialect.barrier)
            case Block(statements):
                for item in statements:
                    self.statement(item)

    @contextmanager
    def variable(self, variable: str, values: Range | None) -> Iterator[str]:
        """A variable, for the time being."""
        name = re.sub(r"\W", "_", variable)
        self.expressions.names[variable] = name
        if values is not None:
            self.expressions.ranges[variable] = values
        yield name
        self.expressions.ranges.pop(variable, None)

    def loop(self, loop: Loop) -> None:
        """Write a loop, in the way of its kind."""
        if loop.kind == "bound":
            self.bound(loop)
            return
        if (loop.kind == "vectorized" and (self.copies_vector(loop) or self.stores_bytes(loop))) or (
            loop.kind == "dot" and self.adds_dot_product(loop)
        ):
            return
        if loop.kind == "tensor" and self.dialect.tensor:
            self.adds_matrix_product(loop)
            return
        with self.variable(loop.variable, (0, loop.extent - 1)) as name:
            if loop.kind in ("serial", "unrolled", "vectorized", "dot", "tensor"):
                if loop.kind != "serial":
                    self.write("#pragma unroll")
                self.write(f"for (int {name} = 0; {name} < {loop.extent}; ++{name}) {{")
            else:
                raise LoopError(f"loop {loop.variable}: a GPU has no {loop.kind} loops")
            self.statement(loop.body)
            self.write("}")

    def let(self, statement: Let, opened: bool = False) -> None:
        """Name an index, and those named right inside."""
        if not opened:
            self.write("{")
        self.expressions.started(statement.value)
        text = self.expressions.text(statement.value)
        with self.variable(statement.variable, range_of(statement.value, self.expressions.ranges)) as name:
            self.write(f"const int {name} = {text};")
            if isinstance(statement.body, Let):
                self.let(statement.body, opened=True)
            else:
                self.statement(statement.body)
        if not opened:
            self.write("}")

    def bound(self, loop: Loop, opened: bool = False) -> None:
        """Write a loop that stands for an index of the grid, and those of its kind right inside it."""
        before, self.lanes = self.lanes, self.lanes.inside(loop)
        with self.variable(loop.variable, (0, loop.extent - 1)) as name:
            if not opened:
                self.write("{")
            self.write(f"const int {name} = {self.dialect.threads[loop.thread]};")
            if isinstance(loop.body, Loop) and loop.body.kind == "bound":
                self.bound(loop.body, opened=True)
            else:
                self.statement(loop.body)
            if not opened:
                self.write("}")
        self.lanes = before

    def store(self, store: Store) -> None:
        """Write an element."""
        old = Load(store.buffer, store.indices)
        value: Expr = store.value
        fused = store.accumulate == "add" and store.buffer.dtype in ("float32", "float64")
        if fused and isinstance(value, Binary) and value.operation == "mul":
            self.expressions.started(value.left, value.right)
            place = self.expressions.place(store.buffer, store.indices)
            left, right = self.expressions.text(value.left), self.expressions.text(value.right)
            self.write(f"{place} = fma({left}, {right}, {place});")
            return
        if store.accumulate is not None:
            value = Binary(store.accumulate, old, value)
        self.expressions.started(value)
        text = self.expressions.text(value)
        if store.buffer.dtype == "float16":
            text = f"half_bits({text})"
        self.write(f"{self.expressions.place(store.buffer, store.indices)} = {text};")

    def copies_vector(self, loop: Loop) -> bool:
        """Write a loop that copies neighbours as one load and one store, if it is such a loop."""
        store = loop.body
        if not isinstance(store, Store) or store.accumulate is not None or not isinstance(store.value, Load):
            return False
        source = store.value
        sides: tuple[Store | Load, ...] = (store, source)
        places = [position_of(item.buffer, item.indices) for item in sides]
        is_bytes = store.buffer.dtype == "int8" and loop.extent == _DOT
        if not is_bytes and (store.buffer.dtype not in _WORDS or loop.extent not in _VECTORS):
            return False
        if not all(_is_aligned(at, loop) for at in places):
            return False
        first = {loop.variable: number(0)}
        self.expressions.started()
        target, origin = (
            f"{self.expressions.buffers[item.buffer]} + {self.expressions.text(substitute(at, first))}"
            for item, at in zip(sides, places, strict=True)
        )
        if is_bytes:
            self.write(self.dialect.bytes_copy.format(target=target, source=origin))
            return True
        kind = self.dialect.types[store.buffer.dtype]
        self.write(self.dialect.vector_copy.format(count=loop.extent, type=kind, target=target, source=origin))
        return True

    def stores_bytes(self, loop: Loop) -> bool:
        """Write four bytes beside each other, however they are computed, as one store."""
        store = loop.body
        if isinstance(store, If) and not _depends(store.condition, loop.variable):
            inner = replace(loop, body=store.body)
            if self.are_bytes(inner):
                self.statement(If(store.condition, inner))
                return True
        if not isinstance(store, Store) or not self.are_bytes(loop):
            return False
        position = position_of(store.buffer, store.indices)
        self.write("{")
        self.write(f"{self.dialect.bytes_type} joined;")
        value = store.value
        if isinstance(value, Select) and not expression_reads(value.condition) and not _depends(value.condition, loop.variable):
            self.expressions.started(value.condition)
            self.write(f"if ({self.expressions.text(value.condition)}) {{")
            self.joins_bytes(loop, value.then)
            self.write("} else {")
            self.joins_bytes(loop, value.otherwise)
            self.write("}")
        else:
            self.joins_bytes(loop, value)
        self.expressions.started()
        place = self.expressions.text(substitute(position, {loop.variable: number(0)}))
        target = f"{self.expressions.buffers[store.buffer]} + {place}"
        self.write(self.dialect.bytes_store.format(target=target, value="joined"))
        self.write("}")
        return True

    def joins_bytes(self, loop: Loop, value: Expr) -> None:
        """Write the four values of a loop as one."""
        values = [substitute(value, {loop.variable: number(at)}) for at in range(_DOT)]
        self.expressions.started(*values)
        texts = [self.expressions.text(item) for item in values]
        self.write(f"joined = {self.dialect.bytes_joined.format(values=', '.join(texts))};")

    def are_bytes(self, loop: Loop) -> bool:
        """Whether a loop stores four bytes beside each other, from a multiple of four on."""
        store = loop.body
        return (
            isinstance(store, Store)
            and store.accumulate is None
            and store.buffer.dtype == "int8"
            and loop.extent == _DOT
            and _is_aligned(position_of(store.buffer, store.indices), loop)
        )

    def adds_matrix_product(self, loop: Loop) -> None:
        """Write the products of matrices that 32 threads compute together: see `vta.host.loop.tensor`."""
        product = tensor_product(loop, self.lanes)
        self.expressions.started()
        row = Var(self.lanes.row)
        # Of the columns a thread brings the one that its place among eight rows says.
        lane = binary("mod", row, number(_LANE_ROWS))
        others = {self.lanes.column: binary("floordiv", lane, number(2)), product.column: binary("mod", lane, number(2))}
        rows = self.row_words(product)
        columns = [self.word(product, product.columns, half, others) for half in range(2)]
        sums = [
            self.expressions.place(
                product.target.buffer,
                tuple(substitute(at, {product.row: number(i), product.column: number(j)}) for at in product.target.indices),
            )
            for i in range(2)
            for j in range(2)
        ]
        self.write(f"add_matrix_product({', '.join((*sums, *rows, *columns))});")
        if _are_neighbors(product):
            self.write("}")

    def row_words(self, product: TensorProduct) -> list[str]:
        """The four words of rows that a thread brings, in a new scope by two loads where rows lie beside each other."""
        if not _are_neighbors(product):
            return [self.word(product, product.rows, half, {product.row: number(at)}) for half in range(2) for at in range(2)]
        self.write("{")
        for half in range(2):
            place = self.word(product, product.rows, half, {product.row: number(0)}, "eight_bytes")
            self.write(f"const int2 rows{half} = {place};")
        return [f"rows{half}.{part}" for half in range(2) for part in "xy"]

    def word(self, product: TensorProduct, operand: Load, half: int, values: dict[str, Expr], how: str = "four_bytes") -> str:
        """Four bytes of an operand: a thread brings the word that its place along x says, of either half of eight."""
        word = binary("add", Var(self.lanes.column), number(4 * half))
        position = linear_position(operand).expression()
        place = substitute(position, {**values, product.word: word, product.byte: number(0)})
        return f"{how}({self.expressions.buffers[operand.buffer]} + {self.expressions.text(place)})"

    def adds_dot_product(self, loop: Loop) -> bool:
        """Write four products of bytes as one dot product, if a loop adds them up."""
        store = loop.body
        if not isinstance(store, Store) or store.accumulate != "add" or store.buffer.dtype != "int32" or loop.extent != _DOT:
            return False
        operands = _bytes_multiplied(store.value)
        if operands is None or not all(_is_aligned(position_of(item.buffer, item.indices), loop) for item in operands):
            return False
        first = {loop.variable: number(0)}
        self.expressions.started()
        left, right = (
            f"four_bytes({self.expressions.buffers[item.buffer]} + "
            f"{self.expressions.text(substitute(position_of(item.buffer, item.indices), first))})"
            for item in operands
        )
        total = self.expressions.place(store.buffer, store.indices)
        self.write(f"{total} = dot4({left}, {right}, {total});")
        return True


def _are_neighbors(product: TensorProduct) -> bool:
    """Whether the words of two rows lie beside each other, from a multiple of eight bytes on."""
    position = linear_position(product.rows)
    factors = [factor for name, factor in position.factors.items() if name not in (product.row, product.byte)]
    return position.factors[product.row] == _DOT and all(part % (2 * _DOT) == 0 for part in (position.constant, *factors))


def _depends(expression: Expr, variable: str) -> bool:
    return any(isinstance(node, Var) and node.name == variable for node in walk(expression))


def _bytes_multiplied(value: Expr) -> tuple[Load, Load] | None:
    match value:
        case Binary("mul", Cast(Load() as left, "int32"), Cast(Load() as right, "int32")):
            return (left, right) if left.buffer.dtype == right.buffer.dtype == "int8" else None
        case _:
            return None


def _is_aligned(position: Expr, loop: Loop) -> bool:
    """Whether a loop goes through neighbours, from a multiple of their number on."""
    affine = affine_of(position)
    if affine is None:
        return _rest_is_multiple(position, loop)
    others = {name: factor for name, factor in affine.factors.items() if name != loop.variable}
    return affine.factors.get(loop.variable) == 1 and all(part % loop.extent == 0 for part in (affine.constant, *others.values()))


def _rest_is_multiple(position: Expr, loop: Loop) -> bool:
    """The same of a sum some of whose terms are no sums of variables, but multiples of a number."""
    match position:
        case Binary("add", left, right):
            return any(_is_multiple(one, loop) and _is_aligned(two, loop) for one, two in ((left, right), (right, left)))
        case _:
            return False


def _is_multiple(expression: Expr, loop: Loop) -> bool:
    match expression:
        case Binary("mul", _, right):
            found = affine_of(right)
            return (found is not None and not found.factors and found.constant % loop.extent == 0) or _multiple_affine(
                expression, loop
            )
        case Binary("add", left, right):
            return _is_multiple(left, loop) and _is_multiple(right, loop)
        case _:
            return _multiple_affine(expression, loop)


def _multiple_affine(expression: Expr, loop: Loop) -> bool:
    found: Affine | None = affine_of(expression)
    return (
        found is not None
        and loop.variable not in found.factors
        and all(part % loop.extent == 0 for part in (found.constant, *found.factors.values()))
    )


def _name(name: str) -> str:
    clean = re.sub(r"\W", "_", name)
    return f"{clean}_" if clean in _KEYWORDS else clean


def _item_bytes(buffer: Buffer) -> int:
    return max(1, Buffer("", (1,), buffer.dtype).nbytes)
