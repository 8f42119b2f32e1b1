"""Channel counts that are no multiple of BLOCK."""

import numpy as np
import pytest

from tests.cases._nets import SHIPPED, Convolution, assert_checksums, config, crc, narrowed, run_verified
from vta.compiler.compile import compile_graph
from vta.ir.graph import Graph, call, graph_input

HEADS = Convolution(
    "C01a", (1, 32, 26, 26), (255, 32, 1, 1), (1, 255, 26, 26), 0x2768309A, shift=9, floor=0x13A9099F, half_up=0x4BD4FC49
)
FIRST = Convolution(
    "C01b", (1, 3, 17, 17), (20, 3, 3, 3), (1, 20, 17, 17), 0x79FEE63E, 9, 0x565CCCD3, 0xF409AD8B, padding=(1, 1, 1, 1)
)
SINGLE = Convolution("C01c", (1, 17, 9, 9), (1, 17, 1, 1), (1, 1, 9, 9), 0x89D400F0, 8, 0xD8A7D339, 0x29649A8A)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("case", [HEADS, FIRST, SINGLE], ids=str)
def test_channel_tails_do_not_show(case, name):
    assert_checksums(case, config(name))


@pytest.mark.parametrize("engine", ["cycle", "rtl"])
@pytest.mark.parametrize("case", [HEADS, FIRST, SINGLE], ids=str)
def test_channel_tails_do_not_show_where_cycles_are_counted(case, engine):
    assert_checksums(case, config("sim"), engine)


@pytest.mark.parametrize("name", ["sim", "sim_1x32"])
def test_detection_heads_are_reshaped_on_the_host(name):
    """255 channels as 3 anchors of 85 values: the reshape must see 172,380 elements and no padding."""
    data = graph_input("x", HEADS.x, "int8")
    packed = narrowed(HEADS.accumulator(data, "heads"), HEADS.shift, "heads")
    graph = Graph((data,), (call("reshape", [packed], "anchors", newshape=(1, 3, 85, 26, 26)),))
    compiled = compile_graph(graph, config(name))
    for report in run_verified(compiled, {"x": HEADS.arrays()[0]}):
        (output,) = report.outputs
        assert output.shape == (1, 3, 85, 26, 26)
        assert output.dtype == np.int8
        assert output.size == 172380
        assert crc(output) == HEADS.floor
    on_host = [entry.op for entry in compiled.placements if entry.where == "host"]
    assert on_host == ["reshape"]
