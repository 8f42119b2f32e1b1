"""Gathers, scatters, the largest values, sequences in reverse and detections against LiteRT's reference kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontend.test_tflite_operators import agree
from tests.tflite_models import Tflite, reference, run
from vta.errors import ImportModelError
from vta.frontend.tflite import import_tflite

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)
SEEDS = st.integers(0, 1 << 16)
FEW = settings(max_examples=20, deadline=None)


@FEW
@given(shape=SHAPES, seed=SEEDS, data=st.data())
def test_the_largest(shape, seed, data):
    """Of equal values the first comes first."""
    k = data.draw(st.integers(1, shape[-1]))
    net = Tflite()
    x = net.tensor(shape, "float32", name="x")
    found = (*shape[:-1], k)
    outputs = [net.tensor(found, "float32"), net.tensor(found, "int32")]
    net.operator("TOPK_V2", [x, net.constant(k, "int32")], outputs, "TopKV2Options")
    values = {"x": np.random.default_rng(seed).integers(-3, 3, shape).astype(np.float32)}
    agree(net, [x], outputs, values=values)


@FEW
@given(shape=SHAPES, seed=SEEDS, data=st.data())
def test_gather_and_scatter(shape, seed, data):
    rng = np.random.default_rng(seed)
    depth = data.draw(st.integers(1, len(shape)))
    lead = tuple(int(size) for size in rng.integers(1, 4, data.draw(st.integers(1, 2))))
    indices = np.stack([rng.integers(0, size, lead) for size in shape[:depth]], axis=-1)
    out = (*lead, *shape[depth:])
    if len(out) > 4:
        return
    net = Tflite()
    x, at = net.tensor(shape, "float32", name="x"), net.tensor(indices.shape, "int32", name="at")
    y = net.operator("GATHER_ND", [x, at], net.tensor(out, "float32"), "GatherNdOptions")
    agree(net, [x, at], [y], values={"x": rng.standard_normal(shape).astype(np.float32), "at": indices.astype(np.int32)})
    net = Tflite()
    u, at = net.tensor(out, "float32", name="u"), net.tensor(indices.shape, "int32", name="at")
    y = net.operator("SCATTER_ND", [at, u, net.constant(shape, "int32")], net.tensor(shape, "float32"), "ScatterNdOptions")
    agree(net, [at, u], [y], values={"at": indices.astype(np.int32), "u": rng.integers(-9, 9, out).astype(np.float32)})


@FEW
@given(shape=st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple), seed=SEEDS, data=st.data())
def test_sequences_in_reverse(shape, seed, data):
    time, batch = data.draw(st.permutations(range(len(shape))))[:2]
    rng = np.random.default_rng(seed)
    net = Tflite()
    x, n = net.tensor(shape, "float32", name="x"), net.tensor((shape[batch],), "int32", name="n")
    y = net.operator(
        "REVERSE_SEQUENCE", [x, n], net.tensor(shape, "float32"), "ReverseSequenceOptions", SeqDim=time, BatchDim=batch
    )
    lengths = rng.integers(1, shape[time] + 1, shape[batch]).astype(np.int32)
    agree(net, [x, n], [y], values={"x": rng.standard_normal(shape).astype(np.float32), "n": lengths})


@pytest.mark.parametrize("kind", ["SIN", "COS"])
def test_sines(kind):
    net = Tflite()
    x = net.tensor((40,), "float32", name="x")
    y = net.operator(kind, [x], net.tensor((40,), "float32"))
    agree(net, [x], [y], relative=2e-6)


OPTIONS = {
    "max_detections": 10,
    "max_classes_per_detection": 1,
    "nms_score_threshold": 0.25,
    "nms_iou_threshold": 0.4,
    "num_classes": 3,
    "y_scale": 10.0,
    "x_scale": 10.0,
    "h_scale": 5.0,
    "w_scale": 5.0,
}


def detector(count, options, background=1, dtype="float32"):
    rng = np.random.default_rng(1)
    quantized = {"scale": 1 / 256, "zero": 0} if dtype == "uint8" else {}
    net = Tflite()
    offsets = net.tensor((1, count, 4), "float32", name="offsets")
    scores = net.tensor((1, count, options["num_classes"] + background), dtype, **quantized, name="scores")
    centers, sizes = rng.random((count, 2)), rng.uniform(0.1, 0.5, (count, 2))
    anchors = net.constant(np.concatenate([centers, sizes], axis=1).astype(np.float32), "float32")
    most = options["max_detections"]
    outputs = [net.tensor(shape, "float32") for shape in ((1, most, 4), (1, most), (1, most), (1,))]
    net.custom("TFLite_Detection_PostProcess", [offsets, scores, anchors], outputs, options)
    return net.build([offsets, scores], outputs)


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("background", [0, 1])
@pytest.mark.parametrize("apart", [False, True])
def test_detections(apart, background, dtype):
    pytest.importorskip("ai_edge_litert")
    content = detector(40, OPTIONS | {"use_regular_nms": apart, "detections_per_class": 5}, background, dtype)
    graph = import_tflite(content)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, 256, graph.arguments[1].shape)
        feed = {
            "offsets": rng.standard_normal((1, 40, 4)).astype(np.float32),
            "scores": scores.astype(np.uint8) if dtype == "uint8" else (scores / 256).astype(np.float32),
        }
        *found, (count,) = run(graph, feed)
        *wanted, (expected,) = reference(content, *feed.values())
        assert count == expected > 1
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got[:, : int(count)], want[:, : int(count)], rtol=1e-5, atol=1e-6)
            assert not got[:, int(count) :].any()


def test_what_is_refused():
    with pytest.raises(ImportModelError, match="max_classes_per_detection 2 without use_regular_nms"):
        import_tflite(detector(9, OPTIONS | {"max_classes_per_detection": 2}))
    with pytest.raises(ImportModelError, match="option nms_iou_threshold must be a number, got None"):
        import_tflite(detector(9, {name: value for name, value in OPTIONS.items() if name != "nms_iou_threshold"}))
    with pytest.raises(ImportModelError, match="scores of 4 classes, the options say 1"):
        import_tflite(detector(9, OPTIONS | {"num_classes": 1}, 3))
