"""Loop nests with block and thread axes as OpenCL C and CUDA C."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from vta.host.gpu.printing.aligned import is_aligned
from vta.host.gpu.printing.dialects import Dialect
from vta.host.gpu.printing.expressions import ExpressionPrinter, position_of
from vta.host.gpu.printing.functions import functions_text
from vta.host.gpu.printing.ranges import Range, range_of
from vta.host.gpu.printing.words import WordPrinter, stored_word
from vta.host.loop.buffer import Buffer
from vta.host.loop.errors import LoopError
from vta.host.loop.expression import Binary, Cast, Expr, Load, substitute
from vta.host.loop.expression import index as number
from vta.host.loop.grid import Grid, grid_of
from vta.host.loop.nest import Barrier, Block, Function, If, Let, Loop, Program, Statement, Store
from vta.host.loop.tensor import Lanes
from vta.host.loop.virtual import with_real_threads
from vta.support.dataclass import dataclass

__all__ = ["GpuFunction", "GpuSource", "gpu_source"]

_MOST_ELEMENTS = 2**31 - 1
_WORDS = ("float32", "int32")
_VECTORS = (2, 4)
_DOT = 4
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
        self.words = WordPrinter(dialect, self.expressions, self.write)
        self.tests: list[Expr] = []
        """Of the word that is to be stored."""

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
            case If(condition, body) if stored_word(body) is not None:
                self.tests.append(condition)
                self.statement(body)
                self.tests.pop()
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
        if loop.limit is not None:
            raise LoopError(f"loop {loop.variable}: loops of a GPU's threads are as long as each other")
        if loop.kind == "bound":
            self.bound(loop)
            return
        if stored_word(loop) is not None:
            self.word(loop)
            return
        if (loop.kind == "vectorized" and self.copies_vector(loop)) or (loop.kind == "dot" and self.adds_dot_product(loop)):
            return
        if loop.kind == "tensor" and self.dialect.tensor:
            self.words.matrix_product(loop, self.lanes)
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
        if store.buffer.dtype not in _WORDS or loop.extent not in _VECTORS or not all(is_aligned(at, loop) for at in places):
            return False
        first = {loop.variable: number(0)}
        self.expressions.started()
        target, origin = (
            f"{self.expressions.buffers[item.buffer]} + {self.expressions.text(substitute(at, first))}"
            for item, at in zip(sides, places, strict=True)
        )
        kind = self.dialect.types[store.buffer.dtype]
        self.write(self.dialect.vector_copy.format(count=loop.extent, type=kind, target=target, source=origin))
        return True

    def word(self, loop: Loop) -> None:
        """Write a loop that stores four bytes as one word."""
        tests, body = [*self.tests], loop.body
        while isinstance(body, If):
            tests.append(body.condition)
            body = body.body
        self.words.store(replace(loop, body=body), tests)

    def adds_dot_product(self, loop: Loop) -> bool:
        """Write four products of bytes as one dot product, if a loop adds them up."""
        store = loop.body
        if not isinstance(store, Store) or store.accumulate != "add" or store.buffer.dtype != "int32" or loop.extent != _DOT:
            return False
        operands = _bytes_multiplied(store.value)
        if operands is None or not all(is_aligned(position_of(item.buffer, item.indices), loop) for item in operands):
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


def _bytes_multiplied(value: Expr) -> tuple[Load, Load] | None:
    match value:
        case Binary("mul", Cast(Load() as left, "int32"), Cast(Load() as right, "int32")):
            return (left, right) if left.buffer.dtype == right.buffer.dtype == "int8" else None
        case _:
            return None


def _name(name: str) -> str:
    clean = re.sub(r"\W", "_", name)
    return f"{clean}_" if clean in _KEYWORDS else clean


def _item_bytes(buffer: Buffer) -> int:
    return max(1, Buffer("", (1,), buffer.dtype).nbytes)
