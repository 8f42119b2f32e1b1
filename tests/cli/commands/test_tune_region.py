"""Which regions `vta tune` chooses schedules for."""

import numpy as np

from tests.integer_graphs import BASELINE, conv, int8_clip, widened
from vta.cli.tuning.tune_region import compiled_regions
from vta.compiler.compile import compile_graph, graph_regions
from vta.ir.graph import Graph, call, constant, graph_input


def small_then_convolution():
    """A few additions, something for the host, and a convolution."""
    data = graph_input("x", (1, 16, 4, 4), "int8")
    value = int8_clip(call("add", [widened(data), constant(np.int32(3))], "plus"), "plus")
    value = call("maximum", [value, constant(np.int8(-5))], "host")
    return Graph((data,), (int8_clip(conv(value, np.ones((16, 16, 3, 3)), "conv"), "conv"),))


def test_regions_that_do_not_pay_are_left_out_as_in_compiling():
    graph = small_then_convolution()
    module = compile_graph(graph, BASELINE, least_gain=None)
    found = compiled_regions(graph, BASELINE, None)
    assert len(graph_regions(graph, BASELINE)) == 2
    assert [(region.name, region.operators[0].name) for region in found] == [("region0", "conv")]
    assert [region.name for region in module.regions] == ["region0"]


def test_where_all_have_products_nothing_is_compiled():
    data = graph_input("x", (1, 16, 4, 4), "int8")
    graph = Graph((data,), (int8_clip(conv(data, np.ones((16, 16, 1, 1)), "conv"), "conv"),))
    assert [region.name for region in compiled_regions(graph, BASELINE, None)] == ["region0"]
