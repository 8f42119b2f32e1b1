"""Constants between scores and a softmax, as what is added to rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization.float.plan.masks import MaskedScores, masked_scores, ranges_with_masks

SCORES = graph_input("scores", (2, 3, 4, 5))
CAUSAL = np.arange(5) > np.arange(4)[:, None]
LOWEST = float(np.finfo(np.float32).min)


def number(value: float) -> Node:
    return constant(np.float32(value))


def floats(value: np.ndarray) -> Node:
    return constant(np.asarray(value, np.float32))


def where(condition: np.ndarray, first: Node, second: Node) -> Node:
    return call("where", [constant(condition), first, second], "mask")


def found(value: Node, stays: tuple[Node, ...] = ()) -> MaskedScores | None:
    return masked_scores(value, lambda node: node is SCORES, stays.__contains__)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def windowed(value: Node) -> Node:
    """Masks of windows, as networks that attend within these add them in five dimensions."""
    apart = call("reshape", [value], "apart", newshape=(1, 2, 3, 4, 5))
    mask = np.where(random(1, 2, 1, 4, 5) > 1, np.float32(-100), np.float32(0))
    return call("reshape", [call("add", [apart, floats(mask)], "mask")], "whole", newshape=SCORES.shape)


WRITTEN = {
    "added": lambda: call("add", [SCORES, floats(np.where(CAUSAL, -np.inf, 0))], "mask"),
    "added before": lambda: call("add", [floats(np.where(CAUSAL, -65504, 0)), SCORES], "mask"),
    "taken off": lambda: call("subtract", [SCORES, floats(np.where(CAUSAL, 1e9, 0))], "mask"),
    "filled": lambda: where(CAUSAL, number(LOWEST), SCORES),
    "chosen": lambda: where(~CAUSAL[None], SCORES, number(-np.inf)),
    "biased": lambda: call("add", [SCORES, floats(random(1, 3, 4, 5))], "bias"),
    "biased by columns": lambda: call("add", [SCORES, floats(random(5))], "bias"),
    "biased by rows": lambda: call("add", [SCORES, floats(random(3, 4, 1))], "bias"),
    "of samples": lambda: call("add", [SCORES, floats(random(2, 1, 1, 5))], "bias"),
    "both": lambda: where(CAUSAL, number(-1e4), call("add", [SCORES, floats(random(3, 1, 5))], "bias")),
    "windows": lambda: windowed(call("add", [SCORES, floats(random(1, 3, 4, 5))], "bias")),
    "nothing": lambda: SCORES,
}
PLANES = {"nothing": 0, "biased by rows": 0, **dict.fromkeys(("added", "added before", "taken off", "filled", "chosen"), 1)}
"""Bytes that what is added takes at most."""


@pytest.mark.parametrize("written", WRITTEN)
def test_softmaxes_are_those_of_the_sums(written: str):
    value = WRITTEN[written]()
    of = found(value)
    assert of is not None
    assert of.scores is SCORES
    assert of.planes == PLANES.get(written, 2)
    scores = random(*SCORES.shape) * 3
    (wanted,) = evaluate(Graph((SCORES,), (call("nn.softmax", [value], "softmax"),)), {"scores": scores})
    sums = (scores.reshape(-1, *of.added.shape) + of.added).reshape(scores.shape)
    terms = np.exp(sums - sums.max(axis=-1, keepdims=True))
    np.testing.assert_allclose(terms / terms.sum(axis=-1, keepdims=True), wanted, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    "value",
    [
        call("add", [SCORES, graph_input("mask", (4, 5))], "mask"),
        call("add", [SCORES, SCORES], "twice"),
        call("multiply", [SCORES, floats(random(4, 5))], "product"),
        call("subtract", [floats(random(4, 5)), SCORES], "negative"),
        call("add", [SCORES, number(np.nan)], "nan"),
        call("add", [SCORES, floats(np.where(CAUSAL, np.inf, 0))], "infinite"),
        call("add", [SCORES, floats(np.where(np.arange(4)[:, None] == 2, -np.inf, 0) + np.zeros((4, 5)))], "no row"),
        call("add", [SCORES, floats(np.where(np.arange(4)[:, None] == 2, -1e9, 0) + np.zeros((4, 5)))], "rounded away"),
        where(np.ones((4, 5), bool), number(-1e9), SCORES),
        where(CAUSAL, number(-3), SCORES),
        where(CAUSAL, SCORES, SCORES),
        call("reshape", [SCORES], "other rows", newshape=(2, 3, 5, 4)),
        call("exp", [SCORES], "function"),
    ],
    ids=lambda node: node.name,
)
def test_what_else_stays_in_float(value: Node):
    assert found(value) is None


def test_what_is_to_stay_is_not_gone_through():
    value = WRITTEN["biased"]()
    assert found(value, (value,)) is None


@given(st.floats(0.001, 1), st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_levels_are_within_half_a_step_where_anything_comes_back(scale: float, seed: int):
    added = -np.abs(np.random.default_rng(seed).standard_normal((3, 20)) * 30).astype(np.float32)
    added[:, 0], added[1, 4] = 0, -np.inf
    levels = MaskedScores(SCORES, added, ()).levels(scale)
    near = added > -510 * scale
    assert np.abs(levels * scale - added)[near].max() <= scale * 0.5001
    assert (levels[~near] <= -510).all()


def test_steps_are_large_enough_for_what_is_seen():
    """255 steps of what a range of scores has reach as far as roots of exponentials are more than 0."""
    for added, range_, wanted in (
        (-10, 1.0, 6.0),
        (-12, 1.0, math.log(510)),
        (-1, 1.0, 1.5),
        (-40, 1.0, 1.0),
        (-np.inf, 1.0, 1.0),
        (-10, 9.0, 9.0),
    ):
        of = MaskedScores(SCORES, np.array([[0, added]], np.float32), ())
        assert ranges_with_masks({SCORES: range_}, {SCORES: of}) == {SCORES: wanted}
