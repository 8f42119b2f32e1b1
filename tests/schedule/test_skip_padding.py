"""Products with padding are left out where that is faster."""

from dataclasses import replace

import numpy as np
import pytest

from tests.codegen.test_transposed import layer
from tests.integer_graphs import BASELINE, conv, int8_clip
from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.measure import Candidate, measure
from vta.autotune.task import task_of_graph
from vta.ir.graph import Graph, graph_input
from vta.schedule.choose import choose_schedule


def chosen_and_other(graph):
    """Whether the default schedule leaves products out, and the cycles of it and of the opposite."""
    task = task_of_graph(graph, BASELINE)
    schedule = choose_schedule(task.operator, BASELINE)
    other = replace(schedule, skip_padding=not schedule.skip_padding)
    chosen, opposite = measure([Candidate(task, schedule), Candidate(task, other)], in_process(BASELINE))
    return schedule.skip_padding, chosen.cycles, opposite.cycles


@pytest.mark.parametrize(
    ("shape", "outputs", "skips"),
    [
        ((1, 256, 8, 8), 128, True),  # a quarter of the products is with padding
        ((1, 128, 16, 16), 16, True),
        ((1, 512, 4, 4), 256, False),  # waits for weights
    ],
)
def test_of_layers_of_image_generators(shape, outputs, skips):
    graph = layer(shape, outputs, strides=(2, 2), padding=(1, 1, 1, 1))
    found, chosen, opposite = chosen_and_other(graph)
    assert found == skips
    assert chosen < opposite


def test_not_of_convolutions():
    data = graph_input("x", (1, 16, 8, 8), "int8")
    value = int8_clip(conv(data, np.ones((16, 16, 3, 3)), padding=(1, 1, 1, 1)), "q")
    assert not chosen_and_other(Graph((data,), (value,)))[0]
