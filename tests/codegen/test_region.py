"""Several operators in one program."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, TINY
from tests.schedule._operators import diagonal
from tests.tile_operators import alu_step, gemm_operator
from vta.codegen.region import compile_operators
from vta.codegen.templates.max_pool import MaxPool
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.isa.instruction import AluOp, Opcode
from vta.isa.program import SymbolKind
from vta.isa.verify import verify
from vta.tile.gemm_term import GemmTerm
from vta.tile.operator import Tensor

BLOCK = BASELINE.block


def tensor(name, planes=1):
    return Tensor(name, 1, 2, 6, 6, planes)


def moving(name, source, output, *more):
    """output = source + more."""
    terms = [
        GemmTerm(t, np.eye(BLOCK, dtype=np.int8)[None, None, None, None], diagonal=True, is_transfer=True)
        for t in (source, *more)
    ]
    steps = [alu_step(AluOp.MAX, 0)]
    return gemm_operator(output, *terms, name=name, kind="elementwise", steps=steps)


def chain(length=4):
    tensors = [tensor(f"t{i}") for i in range(length + 1)]
    operators = [moving(f"op{i}", a, b) for i, (a, b) in enumerate(pairwise(tensors))]
    return operators, tensors


def test_the_program_is_clean_and_names_its_tensors():
    operators, tensors = chain()
    compiled = compile_operators(operators, tensors[:1], tensors[-1:], BASELINE)
    assert verify(compiled.program) == []
    kinds = {symbol.name: symbol.kind for symbol in compiled.program.symbols}
    assert kinds["t0"] is SymbolKind.INPUT
    assert kinds["t4"] is SymbolKind.OUTPUT
    assert {kinds[f"t{i}"] for i in (1, 2, 3)} == {SymbolKind.SCRATCH}
    assert (kinds["uops"], kinds["constants"]) == (SymbolKind.UOP, SymbolKind.CONSTANT)


def test_symbols_alive_together_do_not_overlap_and_scratch_is_shared():
    operators, tensors = chain(6)
    program = compile_operators(operators, tensors[:1], tensors[-1:], BASELINE).program
    at = {symbol.name: (symbol.offset, symbol.offset + symbol.nbytes) for symbol in program.symbols}
    for a, b in pairwise(tensors):
        assert at[a.name][1] <= at[b.name][0] or at[b.name][1] <= at[a.name][0]
    size = tensors[0].elements * BASELINE.elem_bytes(MemoryType.OUT)
    used = max(end for _, end in at.values()) - min(at[t.name][0] for t in tensors)
    assert used == 4 * size, "input and output keep their memory, the rest share that of two"


def test_each_operator_ends_where_its_last_instruction_is():
    operators, tensors = chain()
    compiled = compile_operators(operators, tensors[:1], tensors[-1:], BASELINE)
    program = compiled.program
    assert list(compiled.ends) == sorted(compiled.ends)
    for number, end in enumerate(compiled.ends):
        assert program.instructions["opcode"][end - 1] == Opcode.STORE
        assert program.operators[program.operator_index[end - 1]] == f"op{number}"
    assert program.instructions["opcode"][-1] == Opcode.FINISH
    assert program.operator_index[-1] == -1


def test_there_is_one_finish_and_no_constant_twice():
    operators, tensors = chain()
    program = compile_operators(operators, tensors[:1], tensors[-1:], BASELINE).program
    assert (program.instructions["opcode"] == Opcode.FINISH).sum() == 1


def test_a_serial_program_is_clean_too():
    operators, tensors = chain()
    assert verify(compile_operators(operators, tensors[:1], tensors[-1:], TINY, serial=True).program) == []


def test_an_input_that_is_an_output_as_well_and_one_that_is_read_twice():
    x, y, z = (tensor(name) for name in "xyz")
    operators = [moving("a", x, y), moving("b", x, z, y)]
    program = compile_operators(operators, [x], [y, z], BASELINE).program
    assert verify(program) == []


def test_sources_are_named_once():
    x, y, z = (tensor(name) for name in "xyz")
    assert moving("a", x, z, y, x).sources == (x, y)
    pool = MaxPool(name="p", source=x, output=y, pool_size=(1, 1))
    assert pool.sources == (x,)


def test_positions_become_one_axis_where_no_term_looks_around():
    flat = moving("a", tensor("x"), tensor("y")).flattened
    assert (flat.output.height, flat.output.width) == (1, 36)
    assert (flat.digits[0].terms[0].source.height, flat.digits[0].terms[0].source.width) == (1, 36)
    operand = alu_step(AluOp.MAX, diagonal("m", 1, (2, 6, 6)))
    with_operand = replace(moving("b", tensor("x"), tensor("y")), epilogue=(operand,))
    assert with_operand.flattened.epilogue[0].terms[0].source.width == 36


def test_a_window_keeps_rows_and_columns_apart():
    weights = np.zeros((2, 2, 3, 3, BLOCK, BLOCK), np.int8)
    conv = gemm_operator(tensor("y"), GemmTerm(tensor("x"), weights, padding=(1, 1)))
    assert conv.flattened is conv


def test_an_operator_that_fits_nowhere_is_named():
    x, y = (Tensor(name, 1, 1, 2, 70000) for name in "xy")
    with pytest.raises(CompileError, match="pool: x: rows of 70000"):
        compile_operators([MaxPool(name="pool", source=x, output=y, pool_size=(1, 1))], [x], [y], BASELINE)
