"""TFLite operators that keep values between runs, held to LiteRT over streams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite_streams import bidirectional, integer_lstm, lstm, rnn, streaming_convolution, svdf
from vta.errors import ImportModelError
from vta.frontend.tflite import import_tflite
from vta.ir.graph import Graph
from vta.ir.stream import evaluate_stream
from vta.testing.tflite_model import Tflite, reference_stream

FEW = settings(max_examples=8, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def compare(content: bytes, rng, frames=6, close=0.0) -> Graph:
    """Hold a stream through the graph of a model to what LiteRT gives."""
    graph = import_tflite(content)
    (argument,) = graph.arguments
    if argument.dtype == "int8":
        data = rng.integers(-128, 128, (frames, *argument.shape)).astype(np.int8)
    else:
        data = rng.standard_normal((frames, *argument.shape)).astype(np.float32)
    found = evaluate_stream(graph, ({argument.name: frame} for frame in data))
    for (got, _), want in zip(found, reference_stream(content, data), strict=True):
        for left, right in zip(got, want, strict=True):
            assert (left.shape, left.dtype) == (right.shape, right.dtype)
            np.testing.assert_allclose(left, right, rtol=0, atol=close)
    return graph


@FEW
@given(SEEDS, st.integers(1, 3), st.integers(1, 6), st.integers(1, 20), st.integers(-128, 127))
def test_variables_hold_what_was_assigned(seed, new, memory, channels, start):
    rng = np.random.default_rng(seed)
    graph = compare(streaming_convolution(rng, new, memory, channels, start=start), rng)
    (state,) = graph.states
    assert state.name == "past"
    assert state.initial.shape == (1, channels, memory, 1)
    assert (state.initial == start).all()


@FEW
@given(SEEDS, st.sampled_from(["float32", "int8"]), st.integers(1, 4), st.integers(1, 3), st.integers(2, 6))
def test_svdf(seed, dtype, units, rank, memory):
    rng = np.random.default_rng(seed)
    graph = compare(svdf(rng, dtype, 5, units, rank, memory), rng, frames=8, close=0 if dtype == "int8" else 1e-4)
    assert graph.states[0].type.dtype == ("int16" if dtype == "int8" else "float32")


def test_svdf_has_an_activation():
    rng = np.random.default_rng(0)
    compare(svdf(rng, activation="RELU"), rng, close=1e-4)


@FEW
@given(SEEDS, st.integers(1, 4), st.booleans())
def test_recurrent_layers(seed, steps, time_major):
    rng = np.random.default_rng(seed)
    compare(rnn(rng, steps, time_major=time_major), rng, close=1e-5)


@settings(max_examples=12, deadline=None)
@given(
    SEEDS,
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 3]),
    st.sampled_from([0.0, 0.3]),
    st.booleans(),
    st.sampled_from(["step", "sequence"]),
    st.booleans(),
)
def test_lstm(seed, steps, coupled, peepholes, projected, cell_clip, time_major, kind, normalized):
    rng = np.random.default_rng(seed)
    options = {"coupled": coupled, "peepholes": peepholes, "projected": projected, "cell_clip": cell_clip}
    options["normalized"] = normalized
    graph = compare(lstm(rng, steps, **options, time_major=time_major, kind=kind), rng, frames=4, close=1e-5)
    assert [state.name for state in graph.states] == ["h", "c"]


@pytest.mark.parametrize("kind", ["step", "sequence"])
def test_weights_of_bytes_are_the_real_numbers_that_they_stand_for(kind):
    """LiteRT also rounds what they meet, to bytes, on the fly; so it is only close."""
    rng = np.random.default_rng(0)
    graph = compare(lstm(rng, 3, kind=kind, projected=3, hybrid=True), rng, frames=6, close=0.03)
    assert [state.name for state in graph.states] == ["h", "c"]


@settings(max_examples=15, deadline=None)
@given(
    SEEDS,
    st.integers(1, 3),
    st.integers(1, 9),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 3, 9]),
    st.sampled_from([0.0, 0.3, 100.0]),
    st.sampled_from(["step", "sequence", "time major"]),
    st.integers(0, 6),
    st.integers(1, 2),
)
def test_integer_lstm(seed, steps, units, coupled, peepholes, normalized, projected, clip, kind, cell_bits, samples):
    rng = np.random.default_rng(seed)
    options = {"coupled": coupled, "normalized": normalized, "projected": projected, "cell_clip": clip, "projection_clip": clip}
    shape = {"kind": kind.split()[0], "time_major": kind == "time major", "cell_bits": cell_bits, "samples": samples}
    content = integer_lstm(rng, steps, 5, units, peepholes=peepholes and projected in (0, units), **options, **shape)
    graph = compare(content, rng, frames=8)
    assert [(state.name, state.type.dtype) for state in graph.states] == [("h", "int8"), ("c", "int16")]


def test_integer_lstm_over_a_long_stream():
    rng = np.random.default_rng(0)
    compare(integer_lstm(rng, 1, 20, 24), rng, frames=400)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"peepholes": True, "projected": 3}, "peepholes of 5 values and a projection to 3"),
        ({"cell_bits": 7}, r"its cell has scale 0.00390625; powers of two from 2\^-15 to 2\^-9 are imported"),
        ({"intermediates": 12}, "the integer kernel with 12 intermediate scales; the one with 5 is imported"),
        ({"intermediates": 4}, "it has 4 intermediate tensors; the integer kernel has 5"),
        ({"weight_zero": 3}, "its weights 't6' have zero point 3; 0 is imported"),
    ],
)
def test_integer_lstms_that_are_refused(options, message):
    with pytest.raises(ImportModelError, match=message):
        import_tflite(integer_lstm(np.random.default_rng(0), **options))


def test_a_variable_without_a_first_value_is_refused():
    net = Tflite()
    x, handle, y = net.tensor((1, 2), "float32", name="x"), net.tensor((), "resource"), net.tensor((1, 2), "float32", name="y")
    net.operator("VAR_HANDLE", [], handle, "VarHandleOptions", SharedName="past")
    net.operator("READ_VARIABLE", [handle], y)
    with pytest.raises(ImportModelError, match="VAR_HANDLE: variable 'past' gets no value from what is called once"):
        import_tflite(net.build([x], [y]))


def test_what_is_called_once_only_assigns_constants():
    net, once = Tflite(), Tflite()
    x, y = net.tensor((1, 2), "float32", name="x"), net.tensor((1, 2), "float32", name="y")
    net.operator("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=1)
    net.operator("ABS", [x], y)
    once.operator("ABS", [once.constant([1.0], "float32")], once.tensor((1,), "float32"))
    with pytest.raises(ImportModelError, match="CALL_ONCE: ABS among what is called once; known: VAR_HANDLE, ASSIGN_VARIABLE"):
        import_tflite(net.build([x], [y], [(once, [], [])]))


def test_a_graph_that_is_not_there_is_refused():
    net = Tflite()
    x, y = net.tensor((1, 2), "float32", name="x"), net.tensor((1, 2), "float32", name="y")
    net.operator("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=3)
    net.operator("ABS", [x], y)
    with pytest.raises(ImportModelError, match="CALL_ONCE names graph 3; the file has 1"):
        import_tflite(net.build([x], [y]))


def test_states_that_are_no_variables_are_refused():
    rng = np.random.default_rng(0)
    net = Tflite()
    x = net.tensor((1, 4), "float32", name="x")
    weights = [net.constant(rng.standard_normal(shape), "float32") for shape in ((3, 4), (3, 3), (3,))]
    y = net.tensor((1, 3), "float32", name="y")
    state = net.tensor((1, 3), "float32", name="state")
    net.operator("RNN", [x, *weights, state], y, "RNNOptions", FusedActivationFunction=0)
    with pytest.raises(ImportModelError, match="RNN: its state 'state' is no variable of the file"):
        import_tflite(net.build([x, state], [y]))


def test_variables_are_called_unlike_inputs():
    net = Tflite()
    x, y = net.tensor((1, 4), "float32", name="same"), net.tensor((1, 3), "float32", name="y")
    weights = [net.constant(np.ones(shape), "float32") for shape in ((3, 4), (3, 3), (3,))]
    state = net.tensor((1, 3), "float32", name="same", variable=True)
    net.operator("RNN", [x, *weights, state], y, "RNNOptions", FusedActivationFunction=0)
    with pytest.raises(ImportModelError, match="variable 'same' is called like an input"):
        import_tflite(net.build([x], [y]))


@FEW
@given(SEEDS, st.sampled_from(["LSTM", "RNN"]), st.integers(1, 4), st.booleans(), st.booleans())
def test_recurrent_layers_in_both_directions(seed, kind, steps, time_major, merged):
    rng = np.random.default_rng(seed)
    content = bidirectional(rng, kind, steps, time_major=time_major, merged=merged)
    graph = compare(content, rng, frames=4, close=1e-5)
    assert len(graph.states) == (4 if kind == "LSTM" else 2)


@FEW
@given(SEEDS, st.sampled_from([0, 2]), st.booleans())
def test_both_directions_of_an_lstm_have_projections_and_peepholes(seed, projected, peepholes):
    rng = np.random.default_rng(seed)
    compare(bidirectional(rng, "LSTM", projected=projected, peepholes=peepholes), rng, frames=4, close=1e-5)


@pytest.mark.parametrize("kind", ["LSTM", "RNN"])
def test_a_second_input_of_both_directions_is_refused(kind):
    content = bidirectional(np.random.default_rng(0), kind, second=True)
    with pytest.raises(ImportModelError, match=f"BIDIRECTIONAL_SEQUENCE_{kind}.*with a second input, 'again'"):
        import_tflite(content)
