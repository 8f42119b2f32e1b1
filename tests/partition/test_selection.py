"""Regions marked by hand."""

import pytest

from vta.errors import UsageError
from vta.ir.graph import Graph, call, graph_input
from vta.partition.selection import layers_between


@pytest.fixture
def graph():
    x = graph_input("x", (1, 2, 8, 8))
    value = call("nn.relu", [x], "first")
    value = call("nn.max_pool2d", [value], "pool1", pool_size=(2, 2))
    value = call("nn.relu", [value], "second")
    value = call("nn.max_pool2d", [value], "pool2", pool_size=(2, 2))
    value = call("nn.relu", [value], "third")
    return Graph((x,), (call("nn.relu", [value], "third"),))


@pytest.mark.parametrize(
    ("start", "stop", "names"),
    [
        (None, None, {"first", "pool1", "second", "pool2", "third"}),
        ("nn.max_pool2d", None, {"second", "pool2", "third"}),
        (None, "nn.max_pool2d", {"first"}),
        ("nn.max_pool2d", "nn.max_pool2d", {"second"}),
        ("nn.max_pool2d:3", None, {"third"}),
        ("pool1", "third", {"second", "pool2"}),
        ("nn.relu:0", "nn.relu:2", {"pool1"}),
        ("first", "pool1", set()),
    ],
)
def test_layers_lie_between_start_and_stop(graph, start, stop, names):
    assert layers_between(graph, start, stop) == names


def test_a_layer_that_lies_only_partly_inside_is_outside(graph):
    assert layers_between(graph, None, "third:5") == {"first", "pool1", "second", "pool2"}


def test_a_name_that_is_not_there_is_refused_with_those_that_are(graph):
    with pytest.raises(UsageError) as raised:
        layers_between(graph, "nn.conv2d", None)
    assert str(raised.value) == (
        "start nn.conv2d: no operator or layer is called nn.conv2d; operators: nn.max_pool2d, nn.relu; "
        "layers: first, pool1, second, pool2, third"
    )


def test_a_stop_before_the_start_is_refused(graph):
    with pytest.raises(UsageError, match="stop first: no operator or layer is called first after operator 3; operators: "):
        layers_between(graph, "pool2", "first")


def test_a_number_that_is_another_operator_is_refused(graph):
    with pytest.raises(UsageError, match=r"start nn\.relu:1: no .* nn\.relu with number 1 \(its numbers are 0, 2, 4, 5\);"):
        layers_between(graph, "nn.relu:1", None)


def test_what_follows_the_colon_must_be_a_number(graph):
    with pytest.raises(UsageError, match=r"stop nn\.relu:last: 'last' after the colon is not an operator number"):
        layers_between(graph, None, "nn.relu:last")


def test_names_may_hold_colons():
    x = graph_input("x", (1, 2))
    graph = Graph((x,), (call("nn.relu", [call("nn.relu", [x], "a:0")], "b:0"),))
    assert layers_between(graph, "a:0", None) == {"b:0"}
    assert layers_between(graph, "a:0:0", None) == {"b:0"}
