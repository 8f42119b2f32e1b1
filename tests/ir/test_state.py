"""States of graphs: pairs of an input and an output, through passes and files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.state_nets import counter, frames, streaming_net
from vta.errors import ArtifactError, GraphError
from vta.ir.graph import Graph, call, graph_input
from vta.ir.serialize import graph_from_json, graph_to_json
from vta.ir.state import State, checked_values, with_states
from vta.ir.stream import evaluate_stream
from vta.ir.transforms.batch import with_batch
from vta.passes.canonicalize import canonicalize


def stream(graph, data):
    return [results[0] for results, _ in evaluate_stream(graph, ({"x": frame} for frame in data))]


def test_a_stream_goes_on_from_what_was_kept():
    data = np.array([[[1, 2]], [[10, 20]], [[0, 0]]], np.int32)
    assert [value.tolist() for value in stream(counter(), data)] == [[[5, -5]], [[6, -3]], [[16, 17]]]
    *_, (_, held) = evaluate_stream(counter(), ({"x": frame} for frame in data), {"count": np.array([[0, 0]], np.int32)})
    assert held["count"].tolist() == [[11, 22]]


def test_arguments_and_results_are_what_is_no_state():
    graph = streaming_net(np.random.default_rng(0))
    assert [node.name for node in graph.arguments] == ["x"]
    assert graph.result_positions == (0,)


def test_graphs_print_their_states():
    text = str(counter())
    assert "  state count: int32[1, 2] = const\n" in text
    assert "  next count = %2\n" in text or "  next count = %0\n" in text
    assert "  state first: int8[1, 20, 3, 1] = 0\n" in str(streaming_net(np.random.default_rng(0)))


def test_passes_keep_states():
    rng = np.random.default_rng(0)
    graph = streaming_net(rng)
    data = frames(rng, graph, 5)
    made = canonicalize(graph)
    assert [state.name for state in made.states] == ["first", "second"]
    np.testing.assert_array_equal(stream(made, data), stream(graph, data))


def test_a_state_that_nothing_reads_stays():
    data, held = graph_input("x", (1, 2), "int32"), graph_input("last", (1, 2), "int32")
    graph = Graph((data, held), (data, data), states=(State("last", 1, np.zeros((1, 2), np.int32)),))
    assert [node.name for node in canonicalize(graph).inputs] == ["x", "last"]


def test_files_hold_states():
    graph = streaming_net(np.random.default_rng(0))
    document, arrays = graph_to_json(graph)
    assert document["version"] == 2
    found = graph_from_json(document, arrays)
    assert [(state.name, state.output) for state in found.states] == [("first", 1), ("second", 2)]
    np.testing.assert_array_equal(found.states[1].initial, graph.states[1].initial)
    assert str(found) == str(graph)


def test_files_of_graphs_without_states_are_those_of_before():
    document, _ = graph_to_json(replace(counter(), states=()))
    assert document["version"] == 1
    assert "states" not in document


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "z"}, "state 'z' of graph 'counter': no input is called so; inputs are x, count"),
        ({"output": 2}, "state 'count' of graph 'counter': output 2 is none of the 2 outputs"),
        ({"initial": np.zeros((1, 3), np.int32)}, r"state 'count' of graph 'counter' starts as int32\[1, 3\], but its input is"),
    ],
)
def test_states_that_do_not_fit(change, reason):
    graph = counter()
    with pytest.raises(GraphError, match=reason):
        replace(graph, states=(replace(graph.states[0], **change),))


def test_two_states_need_two_inputs():
    graph = counter()
    with pytest.raises(GraphError, match="two states have one input"):
        replace(graph, states=graph.states * 2)


def test_forged_files_are_refused():
    document, arrays = graph_to_json(counter())
    document["states"] = [{"name": "count", "output": 1, "initial": "nowhere"}]
    with pytest.raises(ArtifactError, match="graph state 0: its array 'nowhere' is missing"):
        graph_from_json(document, arrays)
    document["states"] = [7]
    with pytest.raises(ArtifactError, match="graph state 0 must be an object"):
        graph_from_json(document, arrays)


def test_pairs_become_states_that_start_as_zeros():
    plain = replace(counter(), states=())
    (state,) = with_states(plain, {"count": "count"}, plain.output_names).states
    assert (state.name, state.output, state.initial.tolist()) == ("count", 1, [[0, 0]])


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ({"h": "count"}, "'h' is no input of graph 'counter'; its inputs are: x, count"),
        ({"count": "h"}, "'h' is no output of graph 'counter'; its outputs are: y, count"),
    ],
)
def test_pairs_that_there_are_not(pairs, reason):
    plain = replace(counter(), states=())
    with pytest.raises(GraphError, match=reason):
        with_states(plain, pairs, plain.output_names)


def test_a_pair_has_one_type():
    data, held = graph_input("x", (1, 2)), graph_input("h", (1, 3))
    graph = Graph((data, held), (call("nn.relu", [data], "y"), held), output_names=("y", "z"))
    with pytest.raises(GraphError, match=r"state 'h' is float32\[1, 3\], but output 'y', .* is float32\[1, 2\]"):
        with_states(graph, {"h": "y"}, graph.output_names)


def test_values_of_states_are_checked():
    with pytest.raises(GraphError, match="'h' is no state of graph 'counter'; its states are: count"):
        checked_values(counter(), {"h": 0})
    with pytest.raises(GraphError, match=r"state 'count' must be int32\[1, 2\], got float64\[1, 2\]"):
        checked_values(counter(), {"count": np.zeros((1, 2))})


def test_a_stream_has_one_sample_at_a_time():
    with pytest.raises(GraphError, match="state 'count' of graph 'counter' follows one sequence of samples, not 4"):
        with_batch(counter(), 4)


def test_a_network_of_which_all_outputs_are_states_gives_them_too():
    x, held = graph_input("x", (1, 2)), graph_input("held", (1, 2))
    graph = Graph((x, held), (call("add", [x, held], "sum"),), output_names=("total",))
    made = with_states(graph, {"held": "total"}, ["total"])
    assert made.result_positions == (0,)
    assert made.output_names == ("total", "held")
    results = [values for values, _ in evaluate_stream(made, ({"x": np.float32([[1, 2]])} for _ in range(3)))]
    assert [values[0].tolist() for values in results] == [[[1, 2]], [[2, 4]], [[3, 6]]]


def test_outputs_that_are_states_are_left_out_beside_others():
    x, held = graph_input("x", (1, 2)), graph_input("held", (1, 2))
    graph = Graph((x, held), (call("add", [x, held], "sum"), call("negative", [x], "other")), output_names=("total", "other"))
    assert with_states(graph, {"held": "total"}, ["total", "other"]).result_positions == (1,)
