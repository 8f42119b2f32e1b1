"""Boxes that are kept. What ONNX Runtime and LiteRT make of random ones is in the tests of the front ends."""

from __future__ import annotations

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import call, graph_input

BOXES = np.float32([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 3, 3], [1, 1, 0, 0]]])
"""The second overlaps the first, which the last is with its corners the other way round: TFLite sees no overlap in that."""


def test_a_box_that_overlaps_a_better_one_goes(run):
    scores = np.float32([[[0.5, 0.9, 0.1, 0.4]]])
    kept = run("nn.non_max_suppression", BOXES, scores, most=4, iou_threshold=0.5)
    assert kept.tolist() == [[0, 0, 1], [0, 0, 2], [-1, -1, -1], [-1, -1, -1]]
    assert run("nn.non_max_suppression", BOXES, scores, most=1).tolist() == [[0, 0, 1]]
    over = run("nn.non_max_suppression", BOXES, scores, most=4, iou_threshold=0.5, score_threshold=0.1)
    assert over.tolist() == [[0, 0, 1], *[[-1, -1, -1]] * 3]


def test_detections_of_classes_that_compete_and_that_do_not(run):
    scores = np.float32([[[0.5, 0.2], [0.3, 0.9], [0.1, 0.6], [0.4, 0.1]]])
    limits = {"most": 3, "iou_threshold": 0.5, "score_threshold": 0.3}
    together = run("nn.detections", BOXES, scores, **limits)[0]
    np.testing.assert_array_equal(together[:, 4:], np.float32([[1, 0.9, 1], [1, 0.6, 1], [0, 0.4, 1]]))
    np.testing.assert_array_equal(together[0, :4], BOXES[0, 1])
    apart = run("nn.detections", BOXES, scores, most_of_class=2, **limits)[0]
    np.testing.assert_array_equal(apart[:, 4:], np.float32([[1, 0.9, 1], [1, 0.6, 1], [0, 0.5, 1]]))


def test_errors():
    boxes, scores = graph_input("b", (1, 5, 4)), graph_input("s", (1, 2, 6))
    with pytest.raises(GraphError, match=r"boxes must have shape \(1, 6, 4\), got \(1, 5, 4\)"):
        call("nn.non_max_suppression", [boxes, scores], most=3)
    with pytest.raises(GraphError, match="score_threshold must be a number, got 'much'"):
        call("nn.non_max_suppression", [boxes, graph_input("s", (1, 2, 5))], most=3, score_threshold="much")
