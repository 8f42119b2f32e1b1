"""Recurrent layers of ONNX, held to ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from tests.onnx_models import check, model
from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.ir.state import with_states
from vta.ir.stream import evaluate_stream

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}


@st.composite
def layers(draw):
    """A layer with what may be left out left out or not, and values for its inputs."""
    kind = draw(st.sampled_from(sorted(_GATES)))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    directions, gates = 2 if direction == "bidirectional" else 1, _GATES[kind]
    steps, samples, inputs, hidden = (draw(st.integers(1, 4)) for _ in range(4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    feed = {"x": rng.standard_normal((steps, samples, inputs)).astype(np.float32)}
    shapes = {"w": (directions, gates * hidden, inputs), "r": (directions, gates * hidden, hidden)}
    names = ["x", "w", "r", "", ""]
    if draw(st.booleans()):
        names[3], shapes["b"] = "b", (directions, 2 * gates * hidden)
    constants = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    if draw(st.booleans()):
        names[4], constants["lengths"] = "lengths", np.full(samples, steps, np.int32)
    held = ["h", "c"] if kind == "LSTM" else ["h"]
    if draw(st.booleans()):
        feed |= {name: rng.standard_normal((directions, samples, hidden)).astype(np.float32) for name in held}
        names += held
    elif kind == "LSTM" and draw(st.booleans()):
        constants["p"] = rng.standard_normal((directions, 3 * hidden)).astype(np.float32)
        names += ["", "", "p"]
    while not names[-1]:
        names.pop()
    attributes = {"hidden_size": hidden, "direction": direction}
    if kind == "GRU":
        attributes["linear_before_reset"] = draw(st.integers(0, 1))
    if kind == "LSTM":
        attributes["input_forget"] = draw(st.integers(0, 1))
    if draw(st.booleans()):
        attributes["clip"] = 0.7
    if draw(st.booleans()):
        functions = st.lists(st.sampled_from(["Sigmoid", "Tanh", "Relu"]), min_size=_FUNCTIONS[kind], max_size=_FUNCTIONS[kind])
        attributes["activations"] = draw(functions) * directions
    outputs = ["y", *(f"{name}_after" for name in held)]
    return model([helper.make_node(kind, names, outputs, **attributes)], feed, constants, outputs, opset=14), feed


@settings(max_examples=25, deadline=None)
@given(layers())
def test_layers(case):
    check(*case)


def _lstm(feed, names=("x", "w", "r", "", "", "h", "c"), **attributes):
    rng = np.random.default_rng(0)
    constants = {"w": rng.standard_normal((1, 16, 3)), "r": rng.standard_normal((1, 16, 4))}
    values = {name: value.astype(np.float32) for name, value in constants.items()}
    values |= {name: np.int32([1]) for name in names if name == "lengths"}
    node = helper.make_node("LSTM", names, ["y", "h_after", "c_after"], hidden_size=4, **attributes)
    return model([node], feed, values, ["y", "h_after", "c_after"], opset=14)


def _zeros(*shape):
    return np.zeros(shape, np.float32)


FEED = {"x": _zeros(2, 1, 3), "h": _zeros(1, 1, 4), "c": _zeros(1, 1, 4)}


def test_a_stream_of_pairs_that_are_declared_as_states_is_one_long_sequence():
    rng = np.random.default_rng(1)
    data = rng.standard_normal((6, 1, 3)).astype(np.float32)
    graph = import_onnx(_lstm(FEED))
    stream = with_states(graph, {"h": "h_after", "c": "c_after"}, graph.output_names)
    assert [node.name for node in stream.arguments] == ["x"]
    found = [results[0] for results, _ in evaluate_stream(stream, ({"x": data[at : at + 2]} for at in (0, 2, 4)))]
    whole = import_onnx(_lstm({**FEED, "x": data}))
    (((want, *_), _),) = evaluate_stream(whole, [{"x": data, "h": FEED["h"], "c": FEED["c"]}])
    np.testing.assert_allclose(np.concatenate(found), want, atol=1e-6)


def test_weights_of_8_bits_are_the_numbers_that_they_stand_for():
    rng = np.random.default_rng(2)
    feed = {"x": rng.standard_normal((2, 1, 3)).astype(np.float32)}
    levels = {"w": rng.integers(-127, 128, (1, 3, 16)), "r": rng.integers(-127, 128, (1, 4, 16))}
    constants = {name: value.astype(np.int8) for name, value in levels.items()}
    constants |= {"ws": np.float32([0.01]), "wz": np.int8([0]), "rs": np.float32([0.02]), "rz": np.int8([0])}
    names = ["x", "w", "r", "", "", "", "", "", "ws", "wz", "rs", "rz"]
    node = helper.make_node("DynamicQuantizeLSTM", names, ["y"], domain="com.microsoft", hidden_size=4)
    check(model([node], feed, constants), feed, step=0.02)


@pytest.mark.parametrize(
    ("network", "reason"),
    [
        (_lstm(FEED, ("x", "w", "r", "", "lengths", "h", "c")), r"sequence_lens \(1,\): sequences shorter than the 2 steps"),
        (_lstm(FEED, activations=["Elu", "Tanh", "Tanh"]), "activations Elu, Tanh, Tanh; known: sigmoid, tanh, relu"),
        (_lstm(FEED, activation_alpha=[0.1]), "activation_alpha: activations with parameters"),
        (_lstm(FEED, direction="bidirectional"), "direction 'bidirectional' with weights of 1 directions"),
    ],
)
def test_what_is_not_written_out_says_why(network: onnx.ModelProto, reason):
    with pytest.raises(ImportModelError, match=reason):
        import_onnx(network)


@pytest.mark.parametrize("kind", sorted(_GATES))
def test_the_batch_may_come_first(kind):
    rng = np.random.default_rng(0)
    feed = {"x": rng.standard_normal((2, 3, 4)).astype(np.float32)}
    shapes = {"w": (1, _GATES[kind] * 5, 4), "r": (1, _GATES[kind] * 5, 5)}
    constants = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    node = helper.make_node(kind, ["x", "w", "r"], ["y", "h"], hidden_size=5, layout=1)
    check(model([node], feed, constants, ["y", "h"], opset=14), feed)
