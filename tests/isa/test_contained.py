"""Programs that cannot harm a board: what is checked without the C++ core."""

from dataclasses import replace

import pytest

from tests.integer_graphs import BASELINE, conv, int8_clip
from vta.compiler.compile import compile_graph
from vta.errors import ArtifactError, VerificationError
from vta.ir.graph import Graph, graph_input
from vta.isa import Opcode
from vta.isa.contained import require_contained
from vta.runtime.compiled_module import load, save


@pytest.fixture(scope="module")
def compiled():
    import numpy as np

    data = graph_input("data", (1, 16, 6, 6), "int8")
    output = int8_clip(conv(data, np.ones((16, 16, 3, 3))), "conv")
    return compile_graph(Graph((data,), (output,), "small"), BASELINE)


def spoiled(program, place, **fields):
    rows = program.instructions.copy()
    for name, value in fields.items():
        rows[name][place] = value
    return replace(program, instructions=rows)


def test_what_is_compiled_is_contained(compiled):
    for region in compiled.regions:
        require_contained(region.program)


@pytest.mark.parametrize(
    ("opcode", "fields", "text"),
    [
        (Opcode.STORE, {"dram_base": 1 << 20}, "transfers bytes 16777216 to .*; the image has"),
        (Opcode.LOAD, {"memory_type": 7}, "memory_type = 7"),
        (Opcode.FINISH, {"pop_prev": 1}, "FINISH carries pop_prev"),
        (Opcode.LOAD, {"x_size": 1 << 17}, "x_size = 131072 does not fit"),
    ],
)
def test_what_is_not_is_named(compiled, opcode, fields, text, tmp_path):
    region = compiled.regions[0]
    rows = region.program.instructions
    place = next(i for i, row in enumerate(rows) if row["opcode"] == opcode and (opcode == Opcode.FINISH or row["x_size"]))
    program = spoiled(region.program, place, **fields)
    with pytest.raises(VerificationError, match=text):
        require_contained(program)
    if "x_size" not in fields:
        save(replace(compiled, regions=(replace(region, program=program),)), tmp_path / "bad.vta")
        with pytest.raises(ArtifactError, match=rf"bad\.vta: .*{text}"):
            load(tmp_path / "bad.vta", contained=True)
