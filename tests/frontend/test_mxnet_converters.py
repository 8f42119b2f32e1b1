"""What each MXNet operator computes, by NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vta.errors import ImportModelError
from vta.frontend.mxnet.converters.layout import reshaped

RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


X = normal(2, 4, 5, 6)


def close(got, want):
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def convolved(x, w, stride, pad, dilate, groups):
    """Convolution by its definition."""
    x = np.pad(x, ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2))
    out, per, kh, kw = w.shape
    high = (x.shape[2] - (kh - 1) * dilate[0] - 1) // stride[0] + 1
    wide = (x.shape[3] - (kw - 1) * dilate[1] - 1) // stride[1] + 1
    y = np.zeros((x.shape[0], out, high, wide))
    for o in range(out):
        first = o // (out // groups) * per
        for i in range(high):
            for j in range(wide):
                r, c = i * stride[0], j * stride[1]
                window = x[:, first : first + per, r : r + (kh - 1) * dilate[0] + 1 : dilate[0]]
                y[:, o, i, j] = (window[..., c : c + (kw - 1) * dilate[1] + 1 : dilate[1]] * w[o]).sum((1, 2, 3))
    return y


@pytest.mark.parametrize(
    ("stride", "pad", "dilate", "groups"),
    [((1, 1), (0, 0), (1, 1), 1), ((2, 1), (1, 0), (1, 1), 1), ((1, 1), (2, 1), (2, 1), 2), ((1, 1), (1, 1), (1, 1), 4)],
)
@pytest.mark.parametrize("no_bias", [True, False])
def test_convolution(layer, stride, pad, dilate, groups, no_bias):
    w, b = normal(8, 4 // groups, 3, 3), normal(8)
    geometry = {"kernel": (3, 3), "stride": stride, "pad": pad, "dilate": dilate, "num_group": groups, "num_filter": 8}
    graph, got = layer("Convolution", X, {"w": w} if no_bias else {"w": w, "b": b}, no_bias=no_bias, **geometry)
    close(got, convolved(X, w, stride, pad, dilate, groups) + (0 if no_bias else b.reshape(-1, 1, 1)))
    assert {call.name for call in graph.calls()} == {"layer"}


def test_deconvolution_is_the_transpose_of_convolution(layer):
    w, y = normal(4, 3, 3, 3), normal(2, 4, 4, 4)
    _, got = layer("Deconvolution", y, {"w": w}, kernel=(3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 1), num_filter=3)
    x = normal(2, 3, 8, 8)
    # <conv(x), y> = <x, deconv(y)> for convolution with the same weight.
    assert math.isclose((convolved(x, w, (2, 2), (1, 1), (1, 1), 1) * y).sum(), (x * got).sum(), rel_tol=1e-3)


@pytest.mark.parametrize(("target", "pad", "adj"), [((9, 9), (0, 0), (0, 0)), ((8, 7), (1, 1), (1, 0)), ((6, 5), (2, 2), (1, 0))])
def test_a_target_shape_says_how_much_is_cut(layer, target, pad, adj):
    w, geometry = normal(4, 3, 3, 3), {"kernel": (3, 3), "stride": (2, 2), "num_filter": 3}
    data = normal(2, 4, 4, 4)
    _, got = layer("Deconvolution", data, {"w": w}, target_shape=target, pad=(7, 7), **geometry)
    assert got.shape == (2, 3, *target)
    close(got, layer("Deconvolution", data, {"w": w}, pad=pad, adj=adj, **geometry)[1])


def test_a_target_shape_beyond_the_kernel_is_refused(layer):
    with pytest.raises(ImportModelError, match=r"Deconvolution 'layer': target_shape \(10, 9\) is more than the 9x9 that"):
        layer(
            "Deconvolution",
            normal(2, 4, 4, 4),
            {"w": normal(4, 3, 3, 3)},
            kernel=(3, 3),
            stride=(2, 2),
            num_filter=3,
            target_shape=(10, 9),
        )


def normalized(g, b, m, v, eps):
    g, b, m, v = (p.reshape(-1, 1, 1) for p in (g, b, m, v))
    return (X - m) / np.sqrt(v + eps) * g + b


def test_batch_norm_ignores_gamma_unless_told(layer):
    p = {"g": normal(4), "b": normal(4), "m": normal(4), "v": np.abs(normal(4)) + 0.1}
    close(layer("BatchNorm", X, p)[1], normalized(np.ones(4), p["b"], p["m"], p["v"], 1e-3))
    close(layer("BatchNorm", X, p, fix_gamma="False", eps=1e-5)[1], normalized(*p.values(), 1e-5))


def test_old_files_leave_the_statistics_out_of_the_inputs(symbol):
    from vta.frontend.mxnet import StoredParameters, import_symbol

    names = ["g", "b", "layer_moving_mean", "layer_moving_var"]
    stored = StoredParameters({name: np.ones(4, np.float32) for name in names}, "net.params")
    graph = import_symbol(symbol("BatchNorm", ["data", "g", "b"]), stored, {"data": (1, 4, 2, 2)})
    assert [source.name for source in graph.outputs[0].inputs][3:] == names[2:]


@pytest.mark.parametrize("shape", [(2, 6), (2, 3, 2), (2, 1, 2, 3)])
def test_fully_connected_flattens(layer, shape):
    x, w, b = normal(*shape), normal(5, 6), normal(5)
    close(layer("FullyConnected", x, {"w": w, "b": b}, num_hidden=5)[1], x.reshape(2, 6) @ w.T + b)


def test_fully_connected_of_the_last_axis(layer):
    x, w = normal(2, 3, 6), normal(5, 6)
    close(layer("FullyConnected", x, {"w": w}, num_hidden=5, flatten=False, no_bias=True)[1], x @ w.T)


def windows(x, kernel, stride, pad, full):
    """All windows of a pooling, as rows and columns of slices of the data, with their area inside the declared padding."""
    ranges = []
    for axis in (0, 1):
        room = x.shape[2 + axis] + 2 * pad[axis] - kernel[axis]
        count = 1 + (math.ceil(room / stride[axis]) if full else room // stride[axis])
        starts = [i * stride[axis] - pad[axis] for i in range(count)]
        ends = [min(s + kernel[axis], x.shape[2 + axis] + pad[axis]) for s in starts]
        ranges.append([(max(s, 0), min(e, x.shape[2 + axis]), e - s) for s, e in zip(starts, ends, strict=True)])
    return ranges


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("convention", ["valid", "full"])
@pytest.mark.parametrize("pad", [(0, 0), (1, 1)])
@pytest.mark.parametrize("include", [True, False])
def test_pooling(layer, kind, convention, pad, include):
    rows, cols = windows(X, (3, 3), (2, 2), pad, convention == "full")
    want = np.zeros((2, 4, len(rows), len(cols)))
    for i, (r0, r1, rn) in enumerate(rows):
        for j, (c0, c1, cn) in enumerate(cols):
            part = X[:, :, r0:r1, c0:c1]
            area = rn * cn if include else (r1 - r0) * (c1 - c0)
            want[:, :, i, j] = part.max((2, 3)) if kind == "max" else part.sum((2, 3)) / area
    geometry = {"kernel": (3, 3), "stride": (2, 2), "pad": pad}
    _, got = layer("Pooling", X, pool_type=kind, pooling_convention=convention, count_include_pad=include, **geometry)
    close(got, want)


def test_global_pooling_needs_no_kernel(layer):
    close(layer("Pooling", X, global_pool=True, pool_type="avg")[1], X.mean((2, 3), keepdims=True))
    close(layer("Pooling", X, global_pool=True, pool_type="max", kernel=(1, 1))[1], X.max((2, 3), keepdims=True))


def test_a_full_window_outside_the_data_is_refused(layer):
    with pytest.raises(ImportModelError, match="Pooling: pooling_convention full with a window outside the data"):
        layer("Pooling", normal(1, 1, 4, 4), pool_type="max", pooling_convention="full", kernel=(1, 1), stride=(2, 2))


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "softrelu": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
}


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_activation(layer, kind):
    close(layer("Activation", X, act_type=kind)[1], ACTIVATIONS[kind](X))


def test_softrelu_does_not_overflow(layer):
    close(layer("Activation", np.float32([[-1000, 0, 1000]]), act_type="softrelu")[1], np.float32([[0, math.log(2), 1000]]))


def test_leaky_relu(layer):
    close(layer("LeakyReLU", X)[1], np.where(X > 0, X, X * np.float32(0.25)))
    close(layer("LeakyReLU", X, act_type="elu", slope=0.5)[1], np.where(X > 0, X, 0.5 * np.expm1(X)))
    close(layer("LeakyReLU", X, act_type="selu")[1], 1.0507009 * np.where(X > 0, X, 1.6732632 * np.expm1(X)))
    erf = np.vectorize(math.erf)
    close(layer("LeakyReLU", X, act_type="gelu")[1], X / 2 * (1 + erf(X / math.sqrt(2))))


@pytest.mark.parametrize("slopes", [1, 4])
def test_prelu(layer, slopes):
    slope = np.abs(normal(slopes))
    close(layer("LeakyReLU", X, {"s": slope}, act_type="prelu")[1], np.where(X > 0, X, X * slope.reshape(-1, 1, 1)))


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("elemwise_add", np.add),
        ("_Plus", np.add),
        ("broadcast_sub", np.subtract),
        ("elemwise_mul", np.multiply),
        ("broadcast_div", np.divide),
        ("broadcast_maximum", np.maximum),
        ("_minimum", np.minimum),
    ],
)
def test_binary(layer, op, function):
    other = normal(1, 4, 1, 1) if op.startswith("broadcast") else normal(*X.shape)
    close(layer(op, X, others=[other])[1], function(X, other))


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("_plus_scalar", lambda x: x + 2.5),
        ("_minus_scalar", lambda x: x - 2.5),
        ("_rminus_scalar", lambda x: 2.5 - x),
        ("_mul_scalar", lambda x: x * 2.5),
        ("_div_scalar", lambda x: x / 2.5),
        ("_rdiv_scalar", lambda x: 2.5 / x),
        ("_maximum_scalar", lambda x: np.maximum(x, 2.5)),
        ("_DivScalar", lambda x: x / 2.5),
    ],
)
def test_scalars(layer, op, function):
    x = np.abs(X) + 1
    close(layer(op, x, scalar=2.5)[1], function(x))


def test_sums_and_reductions(layer):
    others = [normal(*X.shape), normal(*X.shape)]
    close(layer("add_n", X, others=others)[1], X + others[0] + others[1])
    close(layer("mean", X, axis=(2, 3))[1], X.mean((2, 3)))
    close(layer("mean", X, axis="1", keepdims=True)[1], X.mean(1, keepdims=True))
    close(layer("sum", X, axis=(1,), exclude=True)[1], X.sum((0, 2, 3)))
    close(layer("max", X)[1], X.max())
    close(layer("clip", X, a_min=-0.5, a_max=0.25)[1], X.clip(-0.5, 0.25))
    close(layer("square", X)[1], X * X)
    close(layer("hard_sigmoid", X)[1], (0.2 * X + 0.5).clip(0, 1))


def test_nothing_remains_of_training(layer):
    for op in ("Dropout", "BlockGrad", "identity"):
        graph, _ = layer(op, X)
        assert graph.outputs == graph.inputs


def test_a_label_is_no_input(symbol):
    from vta.frontend.mxnet import StoredParameters, import_symbol

    shapes = {"data": (2, 3), "label": (2,)}
    graph = import_symbol(symbol("LinearRegressionOutput", ["data", "label"]), StoredParameters({}, "none"), shapes)
    assert [node.name for node in graph.inputs] == ["data"]
    assert graph.outputs == graph.inputs


def softmaxed(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_softmax(layer):
    close(layer("softmax", X)[1], softmaxed(X, -1))
    close(layer("softmax", X, axis=1, temperature=2.0)[1], softmaxed(X / 2, 1))
    close(layer("log_softmax", X, axis=1)[1], np.log(softmaxed(X, 1)))
    close(layer("SoftmaxOutput", X[..., 0, 0])[1], softmaxed(X[..., 0, 0], 1))
    close(layer("SoftmaxOutput", X, multi_output=True)[1], softmaxed(X, 1))
    close(layer("SoftmaxOutput", X)[1], softmaxed(X.reshape(2, -1), 1).reshape(X.shape))
    close(layer("SoftmaxActivation", X, mode="channel")[1], softmaxed(X, 1))


def test_normalizations(layer):
    close(layer("L2Normalization", X)[1], X / np.sqrt((X**2).sum((1, 2, 3), keepdims=True) + 1e-10))
    close(layer("L2Normalization", X, mode="channel")[1], X / np.sqrt((X**2).sum(1, keepdims=True) + 1e-10))
    squares = np.pad(X**2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    total = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    close(layer("LRN", X, nsize=3, alpha=0.3, beta=0.5, knorm=1)[1], X / np.sqrt(1 + 0.1 * total))


@pytest.mark.parametrize(
    ("codes", "want"),
    [
        ((4, 30), (4, 30)),
        ((0, -1), (2, 60)),
        ((-2,), (2, 3, 4, 5)),
        ((2, -2), (2, 3, 4, 5)),
        ((-3, -3), (6, 20)),
        ((-3, 0, 0), (6, 4, 5)),
        ((-4, 1, 2, -2), (1, 2, 3, 4, 5)),
        ((0, 0, -4, -1, 2, 0), (2, 3, 2, 2, 5)),
        ((0, -3, 5), (2, 12, 5)),
        ((-1, 1), (120, 1)),
        ((0, -1, 5), (2, 12, 5)),
    ],
)
def test_reshape_codes(codes, want):
    assert reshaped((2, 3, 4, 5), codes) == want


@pytest.mark.parametrize("codes", [(7, -1), (0, 0, 0, 0, 0), (-1, -1), (-4, 3, 3, -2), (-9,), (-3,)])
def test_reshape_codes_that_do_not_fit(codes):
    with pytest.raises(ImportModelError, match=r"shape code|cannot be split"):
        reshaped((2, 3, 4, 5), codes)


def test_layout(layer):
    close(layer("Reshape", X, shape=(0, -1))[1], X.reshape(2, -1))
    close(layer("Flatten", X)[1], X.reshape(2, -1))
    close(layer("transpose", X, axes=(0, 2, 3, 1))[1], X.transpose(0, 2, 3, 1))
    close(layer("transpose", X)[1], X.T)
    close(layer("SwapAxis", X, dim1=1, dim2=3)[1], X.swapaxes(1, 3))
    close(layer("expand_dims", X, axis=-1)[1], X[..., None])
    close(layer("squeeze", X[:, :1])[1], X[:, 0])
    close(layer("Concat", X, others=[X[:, :2]], dim=1, num_args=2)[1], np.concatenate([X, X[:, :2]], 1))
    close(layer("slice_axis", X, axis=-1, begin=-4, end="None")[1], X[..., -4:])
    close(layer("slice_axis", X, axis=1, begin=1, end=3)[1], X[:, 1:3])
    close(layer("slice", X, begin="(None, 1)", end="(1, None)", step="(None, 2)")[1], X[:1, 1::2])
    close(layer("UpSampling", X, scale=2, sample_type="nearest", num_args=1)[1], X.repeat(2, 2).repeat(2, 3))


def test_split_takes_the_output_that_is_read(layer):
    close(layer("SliceChannel", X, head=1, num_outputs=2)[1], X[:, 2:])
    close(layer("split", X, head=3, num_outputs=4, squeeze_axis=True)[1], X[:, 3])


def test_pad(layer):
    widths = (0, 0, 0, 0, 1, 2, 3, 0)
    want = np.pad(X, ((0, 0), (0, 0), (1, 2), (3, 0)), constant_values=0.5)
    close(layer("Pad", X, mode="constant", pad_width=widths, constant_value=0.5)[1], want)


@pytest.mark.parametrize(
    ("op", "attrs", "reason"),
    [
        ("Convolution", {"kernel": (3,), "num_filter": 2}, "1-D"),
        ("Convolution", {"kernel": (3, 3), "num_filter": 2, "layout": "NHWC"}, "layout NHWC"),
        ("Pooling", {"pool_type": "lp"}, "pool_type lp"),
        ("Pooling", {"pooling_convention": "same"}, "pooling_convention same"),
        ("Activation", {"act_type": "swirl"}, "act_type swirl"),
        ("Pad", {"mode": "reflect"}, "mode reflect"),
        ("Reshape", {"shape": (0, -1), "reverse": True}, "reverse=True"),
        ("UpSampling", {"scale": 2, "sample_type": "bilinear"}, "sample_type bilinear"),
        ("L2Normalization", {"mode": "odd"}, "mode odd"),
    ],
)
def test_refused_with_a_reason(layer, op, attrs, reason):
    with pytest.raises(ImportModelError, match=rf"{op}: {reason}.*1 node: layer \(node 1\)"):
        layer(op, X, **attrs)
