"""The text of each kind of tile operator, as people read it."""

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, conv, int8_clip, per_channel, widened
from tests.tile.golden_text import check_golden
from vta.codegen.tile_text import print_region
from vta.compiler.compile import graph_regions
from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph, call, constant, graph_input
from vta.schedule.choose import choose_schedule
from vta.tile.registry import template_kinds

X = graph_input("x", (1, 16, 8, 8), "int8")

IMAGE = graph_input("tokens", (1, 32, 1, 48), "int8")


def ramp(*shape):
    return np.arange(int(np.prod(shape))).reshape(shape) % 15 - 7


def number(value):
    return constant(np.asarray(value, np.int32))


def narrowed(value, name, shift=8):
    return int8_clip(call("right_shift", [value, number(shift)], name), name)


def layer(data=X, channels=16, name="conv", **attributes):
    weights = ramp(channels, data.shape[1] // attributes.get("groups", 1), 3, 3)
    biased = call("add", [conv(data, weights, name, padding=(1, 1, 1, 1), **attributes), per_channel(ramp(channels))], name)
    return narrowed(biased, name)


def residual():
    first = layer(name="first")
    total = call("add", [conv(first, ramp(16, 16, 1, 1), "second"), call("multiply", [widened(X), number(300)], "scale")], "sum")
    return narrowed(total, "second")


def branching():
    value = call("maximum", [conv(X, ramp(16, 16, 1, 1), "conv"), number(-500)], "low")
    side = call("right_shift", [call("multiply", [value, number(5)], "side"), number(3)], "side")
    return narrowed(call("add", [value, side], "joined"), "joined")


def transposed():
    return narrowed(call("nn.conv2d_transpose", [X, constant(ramp(16, 16, 4, 4).astype(np.int8))], "up", strides=(2, 2)), "up")


def masked_shares():
    later = np.where(np.arange(48) > np.arange(32)[:, None], -512, 0).astype(np.int16)
    terms = call("qnn.softmax_terms", [IMAGE, constant(later)], "terms", input_scale=0.05, axis=3)
    return call("qnn.softmax_shares", [terms], "shares", output_scale=0.01, axis=3)


CASES = {
    "conv2d": layer,
    "depthwise": lambda: layer(groups=16),
    "dense": lambda: narrowed(
        call("nn.dense", [call("nn.batch_flatten", [X], "flat"), constant(ramp(10, 1024).astype(np.int8))], "fc"), "fc"
    ),
    "residual": residual,
    "branch": branching,
    "conv2d_transpose": transposed,
    "sum_pool2d": lambda: narrowed(
        call("nn.sum_pool2d", [X], "pool", pool_size=(2, 2), strides=(2, 2), padding=(0, 0, 0, 0)), "pool", 2
    ),
    "elementwise": lambda: narrowed(call("multiply", [widened(X), widened(layer())], "product"), "product", 4),
    "output_padding": lambda: layer(
        call("nn.pad", [layer(name="first")], "pad", pad_width=((0, 0), (0, 0), (1, 1), (1, 1)), pad_value=-3.0), name="second"
    ),
    "copy": lambda: call("concatenate", [layer(channels=8, name="a"), layer(channels=20, name="b")], "join", axis=1),
    "parts": lambda: layer(call("concatenate", [layer(name="a"), layer(channels=32, name="b")], "join", axis=1), name="c"),
    "max_pool2d": lambda: call("nn.max_pool2d", [X], "pool", pool_size=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1)),
    "upsampling": lambda: call("nn.upsampling", [X], "up", scale_h=2, scale_w=3),
    "matmul2d": lambda: narrowed(
        call("nn.matmul2d", [IMAGE, layer(IMAGE, 32)], "scores", groups=2, lhs_zero_point=-128, rhs_zero_point=3), "scores"
    ),
    "transpose2d": lambda: call("nn.transpose2d", [layer(IMAGE, 32)], "turned", groups=2),
    "softmax_terms": lambda: call("qnn.softmax_terms", [IMAGE], "terms", input_scale=0.05, axis=3),
    "masked_softmax_terms": lambda: call(
        "qnn.softmax_terms", [IMAGE, constant(ramp(32, 48).astype(np.int16) * -9)], "terms", input_scale=0.05, axis=3
    ),
    "masked_softmax_shares": masked_shares,
    "softmax_shares": lambda: call("qnn.softmax_shares", [IMAGE], "shares", output_scale=0.01, axis=3),
    "normalize": lambda: call("qnn.normalize", [IMAGE], "norm", input_scale=0.02, output_scale=0.03, epsilon=1e-5, axis=3),
    "reduce_max": lambda: call("max", [X], "largest", axis=(2, 3)),
    "reduce_min": lambda: call("min", [X], "smallest", axis=(2, 3)),
}

ALONG_ROWS = ("softmax_terms", "masked_softmax_terms", "masked_softmax_shares", "softmax_shares", "normalize")
OF_MATRICES = ("matmul2d", "transpose2d", *ALONG_ROWS)


@pytest.mark.parametrize("name", CASES)
def test_a_region_of(name):
    hw = HardwareConfig.named("sim_rq") if name in ALONG_ROWS else BASELINE
    (region,) = graph_regions(Graph((IMAGE if name in OF_MATRICES else X,), (CASES[name](),)), hw)
    schedules = [operator.scheduled and choose_schedule(operator.scheduled, hw) for operator in region.operators]
    check_golden(name, print_region(region, schedules, hw))


def test_every_template_has_a_text():
    assert set(template_kinds()) <= set(CASES)
