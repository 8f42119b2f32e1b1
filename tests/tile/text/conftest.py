"""Regions that the tests of the text share."""

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, conv, int8_clip
from vta.compiler.compile import graph_regions
from vta.ir.graph import Graph, graph_input


@pytest.fixture
def two_layers():
    """The region of two convolutions with nothing between them."""
    x = graph_input("x", (1, 16, 8, 8), "int8")
    first = int8_clip(conv(x, np.ones((16, 16, 3, 3)), "first", padding=(1, 1, 1, 1)), "first")
    second = int8_clip(conv(first, np.ones((32, 16, 1, 1)), "second"), "second")
    (region,) = graph_regions(Graph((x,), (second,)), BASELINE)
    return region
