"""Families of TFLite operators against LiteRT's reference kernels: all layouts and axes, floats and bytes of both kinds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tflite
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite_models import Tflite, random_values, reference, run
from vta.errors import ImportModelError
from vta.frontend.tflite import import_tflite

IMAGE, CUBE, ROWS = (2, 4, 6, 3), (3, 4, 5), (4, 6)
KINDS = {"float32": {}, "int8": {"scale": 0.05, "zero": 7}, "uint8": {"scale": 0.05, "zero": 120}}
"""Types, and how tensors of them are quantised."""


def agree(net, inputs, outputs, off=0, relative=0.0, values=None, seed=0, optimized=False):
    """Import the network and compare it with the reference kernels: floats up to `relative`, integers up to `off`."""
    pytest.importorskip("ai_edge_litert")
    content = net.build(inputs, outputs)
    graph = import_tflite(content)
    values = values or random_values(graph, seed)
    wanted = reference(content, *values.values(), optimized=optimized)
    for got, want in zip(run(graph, values), wanted, strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        if got.dtype == np.float32 and relative:
            np.testing.assert_allclose(got, want, rtol=relative, atol=relative)
        else:
            difference = np.abs(got.astype(np.float64) - want)
            assert difference.max(initial=0) <= off, f"{(difference > 0).sum()} of {difference.size} differ"


def one(kind, shape, out, options=None, dtype="float32", constants=(), target=None, source=None, **fields):
    """A network of one operator on one tensor and constants (int32); returns it with its input and output."""
    net = Tflite()
    x = net.tensor(shape, dtype, **(source or KINDS[dtype]))
    rest = [net.constant(np.asarray(value), "int32") for value in constants]
    y = net.tensor(out, dtype, **(target or source or KINDS[dtype]))
    net.operator(kind, [x, *rest], y, options, **fields)
    return net, [x], [y]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [IMAGE, CUBE, ROWS])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_strided_slices(dtype: str, shape: tuple, data: st.DataObject):
    """Any begin, end and step, with each mask, also of fewer axes than there are."""
    count = data.draw(st.integers(1, len(shape)))
    begin, end, step, out, masks = [], [], [], [], {"Begin": 0, "End": 0, "ShrinkAxis": 0}
    for axis in range(count):
        size = shape[axis]
        first, last, by = (
            data.draw(st.integers(-size, size - 1)),
            data.draw(st.integers(-size, size)),
            data.draw(st.sampled_from([-2, -1, 1, 2])),
        )
        flags = {name: data.draw(st.booleans()) for name in ("Begin", "End")}
        shrinks = data.draw(st.integers(0, 4)) == 0
        kept = len(range(*slice(None if flags["Begin"] else first, None if flags["End"] else last, by).indices(size)))
        if not shrinks and kept == 0:
            flags = {"Begin": True, "End": True}
            kept = len(range(*slice(None, None, by).indices(size)))
        if shrinks:
            flags, by = {"Begin": False, "End": False}, 1
            last = first + 1
        begin.append(first), end.append(last), step.append(by)
        for name, flag in (*flags.items(), ("ShrinkAxis", shrinks)):
            masks[name] |= int(flag) << axis
        out += [] if shrinks else [kept]
    fields = {f"{name}Mask": mask for name, mask in masks.items()}
    agree(*one("STRIDED_SLICE", shape, (*out, *shape[count:]), "StridedSliceOptions", dtype, (begin, end, step), **fields))


@pytest.mark.parametrize(("ellipsis", "new", "out"), [(1, 0, (2, 4, 6, 2)), (2, 0, (1, 4, 6, 2)), (0, 1, (1, 2, 4, 5))])
def test_strided_slices_with_ellipsis_and_new_axes(ellipsis: int, new: int, out: tuple):
    if new:
        net = one("STRIDED_SLICE", CUBE, (1, 2, 4, 5), "StridedSliceOptions", constants=([0, 1], [0, 3], [1, 1]), NewAxisMask=1)
    elif ellipsis == 1:
        constants = ([0, 1], [0, 3], [1, 1])
        net = one("STRIDED_SLICE", IMAGE, out, "StridedSliceOptions", constants=constants, EllipsisMask=1)
    else:
        constants = ([1, 0, 0], [2, 0, 2], [1, 1, 1])
        net = one("STRIDED_SLICE", IMAGE, out, "StridedSliceOptions", constants=constants, EllipsisMask=2)
    agree(*net)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(("shape", "axis"), [(shape, axis) for shape in (IMAGE, CUBE, ROWS) for axis in range(-1, len(shape))])
def test_splits(dtype: str, shape: tuple, axis: int):
    size = shape[axis]
    for parts in {1, size}:
        net = Tflite()
        x = net.tensor(shape, dtype, **KINDS[dtype])
        part = tuple(size // parts if index == axis % len(shape) else dim for index, dim in enumerate(shape))
        outs = [net.tensor(part, dtype, **KINDS[dtype]) for _ in range(parts)]
        net.operator("SPLIT", [net.constant(axis, "int32"), x], outs, "SplitOptions", NumSplits=parts)
        agree(net, [x], outs)
    net = Tflite()
    x = net.tensor(shape, dtype, **KINDS[dtype])
    sizes = (1, size - 1)
    outs = [
        net.tensor(tuple(n if index == axis % len(shape) else dim for index, dim in enumerate(shape)), dtype, **KINDS[dtype])
        for n in sizes
    ]
    given_sizes = [1, -1]
    net.operator(
        "SPLIT_V", [x, net.constant(given_sizes, "int32"), net.constant(axis, "int32")], outs, "SplitVOptions", NumSplits=2
    )
    agree(net, [x], outs)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(("shape", "axis"), [(shape, axis) for shape in (IMAGE, CUBE, ROWS) for axis in range(-1, len(shape))])
def test_packs_and_unpacks(dtype: str, shape: tuple, axis: int):
    net = Tflite()
    x = net.tensor(shape, dtype, **KINDS[dtype])
    rest = tuple(dim for index, dim in enumerate(shape) if index != axis % len(shape))
    parts = [net.tensor(rest, dtype, **KINDS[dtype]) for _ in range(shape[axis])]
    net.operator("UNPACK", [x], parts, "UnpackOptions", Axis=axis, Num=shape[axis])
    y = net.tensor(shape, dtype, **KINDS[dtype])
    net.operator("PACK", parts[::-1], y, "PackOptions", Axis=axis, ValuesCount=shape[axis])
    agree(net, [x], [y, parts[0]])


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(("shape", "axis"), [(shape, axis) for shape in (IMAGE, CUBE, ROWS) for axis in range(len(shape))])
@pytest.mark.parametrize("indices", [[1, 0, 1], [[2, 1], [0, 1]], 1])
def test_gathers_and_reversals(dtype: str, shape: tuple, axis: int, indices: list):
    picked = np.minimum(np.asarray(indices), shape[axis] - 1)
    out = (*shape[:axis], *picked.shape, *shape[axis + 1 :])
    agree(*one("GATHER", shape, out, "GatherOptions", dtype, (picked,), Axis=axis))
    agree(*one("REVERSE_V2", shape, shape, None, dtype, ([axis],)))


@pytest.mark.parametrize(("shape", "indices"), [(IMAGE, [[1, 2], [0, 3]]), (CUBE, [[2, 1, 4]]), (IMAGE, [[[1], [0]]])])
def test_gathers_of_many_axes(shape: tuple, indices: list):
    out = (*np.shape(indices)[:-1], *shape[np.shape(indices)[-1] :])
    agree(*one("GATHER_ND", shape, out, None, constants=(indices,)))


def test_embeddings_are_looked_up_while_running():
    net = Tflite()
    ids, table = net.tensor((5,), "int32"), net.constant(np.arange(24).reshape(8, 3), "float32")
    y = net.tensor((5, 3), "float32")
    net.operator("EMBEDDING_LOOKUP", [ids, table], y)
    agree(net, [ids], [y], values={"t0": np.array([0, 7, 3, 3, 1], np.int32)})


@pytest.mark.parametrize("dtype", KINDS)
def test_what_only_moves_values(dtype: str):
    image = (1, 4, 6, 8)
    agree(*one("TILE", IMAGE, (4, 4, 18, 6), None, dtype, ([2, 1, 3, 2],)))
    agree(*one("TILE", ROWS, (4, 12), None, dtype, ([1, 2],)))
    agree(*one("SPACE_TO_DEPTH", image, (1, 2, 3, 32), "SpaceToDepthOptions", dtype, BlockSize=2))
    agree(*one("DEPTH_TO_SPACE", image, (1, 8, 12, 2), "DepthToSpaceOptions", dtype, BlockSize=2))
    for mode in (0, 1):
        pads = [[0, 0], [1, 2], [0, 2], [1, 0]]
        agree(*one("MIRROR_PAD", IMAGE, (2, 7, 8, 4), "MirrorPadOptions", dtype, (pads,), Mode=mode))
    pads = [[1, 1], [0, 3]]
    agree(*one("SPACE_TO_BATCH_ND", IMAGE, (12, 3, 3, 3), None, dtype, ([2, 3], pads)))
    agree(*one("BATCH_TO_SPACE_ND", (12, 3, 3, 3), (2, 4, 7, 3), None, dtype, ([2, 3], [[1, 1], [2, 0]])))


def test_broadcasts_and_constants():
    agree(*one("BROADCAST_TO", (2, 1, 6, 3), (2, 4, 6, 3), None, constants=([2, 4, 6, 3],)))
    agree(*one("BROADCAST_TO", (6, 3), (2, 4, 6, 3), None, constants=([2, 4, 6, 3],)))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("kind", ["REDUCE_MAX", "REDUCE_MIN", "MEAN", "SUM", "REDUCE_PROD"])
def test_reductions_over_any_axes(kind: str, dtype: str, keep: bool):
    if kind == "REDUCE_PROD" and dtype != "float32":
        pytest.skip("only of floats")
    target = dict(KINDS[dtype])
    if target and kind in ("SUM", "MEAN"):
        target |= {"scale": 0.21 if kind == "SUM" else 0.031, "zero": target["zero"] - 9}
    for shape in (IMAGE, CUBE, ROWS):
        rank = len(shape)
        for axes in (axes for count in range(1, rank + 1) for axes in itertools.combinations(range(rank), count)):
            out = tuple(1 if axis in axes else dim for axis, dim in enumerate(shape) if keep or axis not in axes)
            given_axes = [axis - rank for axis in axes]
            net = one(kind, shape, out, "ReducerOptions", dtype, (given_axes,), target, KINDS[dtype], KeepDims=keep)
            # The reference kernel takes the bytes of a sum as unsigned, whatever they are; the optimised one rounds otherwise.
            signed_sum = kind == "SUM" and dtype == "int8"
            agree(*net, relative=1e-5, optimized=signed_sum, off=int(signed_sum))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("kind", ["ARG_MAX", "ARG_MIN"])
def test_places_of_extremes(kind: str, dtype: str):
    for shape in (IMAGE, CUBE, ROWS):
        for axis in range(-1, len(shape)):
            net = Tflite()
            x = net.tensor(shape, dtype, **KINDS[dtype])
            y = net.tensor(tuple(dim for index, dim in enumerate(shape) if index != axis % len(shape)), "int32")
            options = "ArgMaxOptions" if kind == "ARG_MAX" else "ArgMinOptions"
            net.operator(kind, [x, net.constant(axis, "int32")], y, options, OutputType=tflite.TensorType.INT32)
            agree(net, [x], [y])


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(("aligned", "centered"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("kind", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("size", [(8, 12), (7, 5), (1, 1), (13, 2), (4, 6)])
def test_images_are_resized(kind: str, aligned: bool, centered: bool, dtype: str, size: tuple):
    options = "ResizeBilinearOptions" if kind == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
    flags = {"AlignCorners": aligned, "HalfPixelCenters": centered}
    net = one(kind, IMAGE, (2, *size, 3), options, dtype, (size,), **flags)
    agree(*net, relative=1e-5 if kind == "RESIZE_BILINEAR" else 0)


@pytest.mark.parametrize(("turned_left", "turned_right"), list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_products_of_two_tensors(dtype: str, lead: tuple, turned_left: bool, turned_right: bool):
    net = Tflite()
    left, right = ((6, 4) if turned_left else (4, 6)), ((5, 6) if turned_right else (6, 5))
    first, second, to = (
        ({}, {}, {})
        if dtype == "float32"
        else ({"scale": 0.05, "zero": 7}, {"scale": 0.031, "zero": -20}, {"scale": 0.4, "zero": 3})
    )
    x, z = net.tensor((*lead, *left), dtype, **first), net.tensor((*lead, *right), dtype, **second)
    y = net.tensor((*lead, 4, 5), dtype, **to)
    net.operator("BATCH_MATMUL", [x, z], y, "BatchMatMulOptions", AdjX=turned_left, AdjY=turned_right)
    agree(net, [x, z], [y], relative=1e-5)


FUNCTIONS = {
    "ABS": "AbsOptions", "CEIL": None, "ELU": None, "EXP": "ExpOptions", "FLOOR": None, "GELU": "GeluOptions", "LOG": None,
    "L2_NORMALIZATION": "L2NormOptions", "LOG_SOFTMAX": "LogSoftmaxOptions", "NEG": "NegOptions", "ROUND": None, "RSQRT": None,
    "SIGN": "SignOptions", "SQRT": None, "SQUARE": "SquareOptions",
}  # fmt: skip


NO_REFERENCE = ("CEIL", "ELU", "ROUND")
"""Operators that only the optimised kernels have."""


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("shape", [IMAGE, CUBE])
def test_functions_of_floats(kind: str, shape: tuple):
    net, inputs, outputs = one(kind, shape, shape, FUNCTIONS[kind])
    values = {"t0": np.random.default_rng(3).standard_normal(shape).astype(np.float32) * 2}
    if kind in ("LOG", "SQRT", "RSQRT"):
        values["t0"] = np.abs(values["t0"]) + np.float32(0.01)
    if kind == "ROUND":
        values["t0"] = np.round(values["t0"] * 2) / 2
    agree(net, inputs, outputs, relative=2e-6, values=values, optimized=kind in NO_REFERENCE)


BYTES = np.arange(-128, 128).astype(np.int8).reshape(1, 4, 8, 8)


@pytest.mark.parametrize(("source", "to"), [((0.05, 7), (0.05, 7)), ((0.031, -128), (0.02, -100)), ((0.11, 0), (0.3, 10))])
@pytest.mark.parametrize(
    ("kind", "options"),
    [("ABS", {}), ("EXP", {}), ("GELU", {"Approximate": False}), ("GELU", {"Approximate": True}), ("ELU", {})],
)
def test_functions_of_bytes_are_tables(kind: str, options: dict, source: tuple, to: tuple):
    scales = [dict(zip(("scale", "zero"), pair, strict=True)) for pair in (source, to)]
    net, inputs, outputs = one(
        kind, BYTES.shape, BYTES.shape, FUNCTIONS[kind], "int8", source=scales[0], target=scales[1], **options
    )
    agree(net, inputs, outputs, values={"t0": BYTES}, optimized=kind in NO_REFERENCE)


@pytest.mark.parametrize(
    ("kind", "source", "to"),
    [
        ("RSQRT", (0.05, -128), (0.03, -128)),
        ("LOG", (0.05, -128), (0.04, 0)),
        ("LOG_SOFTMAX", (0.05, 3), (16 / 256, 127)),
        ("L2_NORMALIZATION", (0.05, 3), (1 / 128, 0)),
    ],
)
def test_functions_of_bytes_by_way_of_floats_are_at_most_one_off(kind: str, source: tuple, to: tuple):
    scales = [dict(zip(("scale", "zero"), pair, strict=True)) for pair in (source, to)]
    net, inputs, outputs = one(kind, BYTES.shape, BYTES.shape, FUNCTIONS[kind], "int8", source=scales[0], target=scales[1])
    agree(net, inputs, outputs, off=1, values={"t0": np.maximum(BYTES, -127)})


SHAPES = [(IMAGE, IMAGE), (IMAGE, (3,)), (IMAGE, (6, 1)), ((4, 6, 3), IMAGE), (CUBE, (1, 4, 1)), (IMAGE, ())]
BINARY = {
    "POW": "PowOptions", "SQUARED_DIFFERENCE": "SquaredDifferenceOptions", "FLOOR_DIV": "FloorDivOptions",
    "FLOOR_MOD": "FloorModOptions", "MAXIMUM": "MaximumMinimumOptions", "MINIMUM": "MaximumMinimumOptions",
}  # fmt: skip
COMPARISONS = {
    "EQUAL": "EqualOptions", "NOT_EQUAL": "NotEqualOptions", "GREATER": "GreaterOptions",
    "GREATER_EQUAL": "GreaterEqualOptions", "LESS": "LessOptions", "LESS_EQUAL": "LessEqualOptions",
}  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SHAPES)
@pytest.mark.parametrize("kind", BINARY)
def test_operators_of_two_tensors(kind: str, left: tuple, right: tuple):
    net = Tflite()
    a, b = net.tensor(left, "float32"), net.tensor(right, "float32")
    y = net.tensor(np.broadcast_shapes(left, right), "float32")
    net.operator(kind, [a, b], y, BINARY[kind])
    rng = np.random.default_rng(5)
    values = {"t0": rng.uniform(0.1, 3, left).astype(np.float32), "t1": rng.uniform(0.5, 2, right).astype(np.float32)}
    agree(net, [a, b], [y], relative=1e-5, values=values)


WHOLE = {"DIV": "DivOptions", "FLOOR_DIV": "FloorDivOptions", "FLOOR_MOD": "FloorModOptions"}


@pytest.mark.parametrize(("kind", "dtype"), [*((kind, "int32") for kind in WHOLE), ("FLOOR_MOD", "int64")])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_integers_are_divided(kind: str, left: tuple, right: tuple, dtype: str):
    net = Tflite()
    a, b = net.tensor(left, dtype), net.tensor(right, dtype)
    y = net.tensor(np.broadcast_shapes(left, right), dtype)
    net.operator(kind, [a, b], y, WHOLE[kind])
    rng = np.random.default_rng(5)
    divisors = rng.integers(1, 9, right) * rng.choice([-1, 1], right)
    values = {"t0": rng.integers(-99, 99, left).astype(dtype), "t1": np.asarray(divisors, dtype)}
    agree(net, [a, b], [y], values=values)


@pytest.mark.parametrize("dtype", ["float32", "int8", "int32"])
@pytest.mark.parametrize(("left", "right"), SHAPES)
@pytest.mark.parametrize("kind", COMPARISONS)
def test_comparisons(kind: str, left: tuple, right: tuple, dtype: str):
    net = Tflite()
    a, b = net.tensor(left, dtype, **KINDS.get(dtype, {})), net.tensor(right, dtype, **KINDS.get(dtype, {}))
    shape = np.broadcast_shapes(left, right)
    condition, y = net.tensor(shape, "bool"), net.tensor(shape, "float32")
    net.operator(kind, [a, b], condition, COMPARISONS[kind])
    net.operator("CAST", [condition], y, "CastOptions", InDataType=tflite.TensorType.BOOL, OutDataType=tflite.TensorType.FLOAT32)
    rng = np.random.default_rng(5)
    values = {name: rng.integers(-2, 3, of).astype(dtype) for name, of in (("t0", left), ("t1", right))}
    agree(net, [a, b], [y], values=values)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("kind", ["SELECT", "SELECT_V2"])
def test_choices(kind: str, dtype: str):
    shapes = [(IMAGE, IMAGE, IMAGE), (CUBE, CUBE, CUBE)]
    shapes += [((2,), IMAGE, IMAGE)] if kind == "SELECT" else [((6, 1), IMAGE, (3,)), ((1, 4, 1), CUBE, ())]
    for condition, left, right in shapes:
        net = Tflite()
        m, zero = net.tensor(condition, "float32"), net.constant(0, "float32")
        c = net.tensor(condition, "bool")
        net.operator("GREATER", [m, zero], c, "GreaterOptions")
        a, b = net.tensor(left, dtype, **KINDS[dtype]), net.tensor(right, dtype, **KINDS[dtype])
        y = net.tensor(np.broadcast_shapes(condition, left, right) if kind == "SELECT_V2" else left, dtype, **KINDS[dtype])
        net.operator(kind, [c, a, b], y, "SelectOptions" if kind == "SELECT" else "SelectV2Options")
        agree(net, [m, a, b], [y])


@pytest.mark.parametrize(("exclusive", "backwards"), list(itertools.product([False, True], repeat=2)))
def test_running_sums(exclusive: bool, backwards: bool):
    for shape in (IMAGE, CUBE, ROWS):
        for axis in range(len(shape)):
            flags = {"Exclusive": exclusive, "Reverse": backwards}
            agree(*one("CUMSUM", shape, shape, "CumsumOptions", constants=(axis,), **flags), relative=2e-6)


def test_local_response_normalization_and_slopes():
    fields = {"Radius": 1, "Alpha": 0.3, "Beta": 0.6, "Bias": 1.5}
    agree(
        *one("LOCAL_RESPONSE_NORMALIZATION", IMAGE, IMAGE, "LocalResponseNormalizationOptions", **fields),
        relative=1e-5,
        optimized=True,
    )
    for slopes in ((1, 1, 3), (3,), (4, 6, 3), (1,)):
        net = Tflite()
        x, y = net.tensor(IMAGE, "float32"), net.tensor(IMAGE, "float32")
        net.operator("PRELU", [x, net.constant(np.random.default_rng(1).uniform(0.1, 0.9, slopes), "float32")], y)
        agree(net, [x], [y], relative=1e-6)


@pytest.mark.parametrize(
    ("dtype", "to"), list(itertools.product(["float32", "int32", "int8", "uint8"], ["float32", "int32", "int64"]))
)
def test_casts_take_numbers_as_they_are_stored(dtype: str, to: str):
    net = Tflite()
    x, y = net.tensor(IMAGE, dtype, **KINDS.get(dtype, {})), net.tensor(IMAGE, to)
    net.operator("CAST", [x], y, "CastOptions")
    values = {"t0": np.random.default_rng(2).integers(0, 100, IMAGE).astype(dtype)}
    agree(net, [x], [y], values=values)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: one("REDUCE_PROD", CUBE, (3, 4), "ReducerOptions", "int8", ([2],)), "stand for real numbers"),
        (lambda: one("SUM", CUBE, (3, 4), "ReducerOptions", "int8", ([2],)), "wraps at 8 bits"),
        (lambda: one("GATHER", CUBE, (3, 4, 2), "GatherOptions", constants=([0, 9],), Axis=2), r"indices must be in 0\.\.4"),
        (lambda: one("STRIDED_SLICE", CUBE, CUBE, "StridedSliceOptions", constants=([0], [3], [0])), "a step is 0"),
        (lambda: one("FLOOR_DIV", CUBE, CUBE, None, "int8", (3,)), "only of float32"),
    ],
)
def test_what_cannot_be_imported_says_why(make, said: str):
    net, inputs, outputs = make()
    with pytest.raises(ImportModelError, match=said):
        import_tflite(net.build(inputs, outputs))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("rows", [(2, 72), (2, 4, 18), (8, 18), (48, 3), IMAGE, (4, 36)])
@pytest.mark.parametrize("before", ["input", "image"])
def test_an_image_is_reshaped_to_the_rows_of_a_dense_layer(dtype: str, rows: tuple, before: str):
    """Whole images, their rows, their pixels, or several of them at a time; dimensions are kept where there are more than two."""
    rng, quantized = np.random.default_rng(4), KINDS[dtype]
    net = Tflite()
    x = image = net.tensor(IMAGE, dtype, **quantized)
    if before == "image":
        image = net.tensor(IMAGE, dtype, **quantized)
        window = {"StrideH": 1, "StrideW": 1, "FilterHeight": 2, "FilterWidth": 2, "FusedActivationFunction": 0}
        net.operator("MAX_POOL_2D", [x], image, "Pool2DOptions", Padding=tflite.Padding.SAME, **window)
    flat = net.tensor(rows, dtype, **quantized)
    net.operator("RESHAPE", [image, net.constant(rows, "int32")], flat, "ReshapeOptions", NewShape=rows)
    if dtype == "float32":
        weight, bias = net.constant(rng.standard_normal((5, rows[-1])), dtype), net.constant(rng.standard_normal(5), dtype)
    else:
        zero = {"int8": 0, "uint8": 130}[dtype]
        weight = net.constant(rng.integers(-127, 128, (5, rows[-1])) + (zero and 128), dtype, 0.01, zero)
        bias = net.constant(rng.integers(-900, 900, 5), "int32")
    y = net.tensor((*rows[:-1], 5), dtype, **(quantized and {"scale": 0.3, "zero": quantized["zero"]}))
    options = {"KeepNumDims": len(rows) > 2, "FusedActivationFunction": 0}
    net.operator("FULLY_CONNECTED", [flat, weight, bias], y, "FullyConnectedOptions", **options)
    agree(net, [x], [y], relative=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(("source", "kernel", "to"), [(0.05, 0.01, 0.3), (0.05, 0.02, 0.3), (0.05, 0.01, 0.5), (0.1, 0.01, 0.2)])
def test_dense_layers_round_sums_halfway_between_two_levels(dtype: str, source: float, kernel: float, to: float):
    """Of such scales, sums are often as good as halfway: which way they go hangs on the last bits of the ratio."""
    rng, zero = np.random.default_rng(4), 0 if dtype == "int8" else 128
    net = Tflite()
    x, y = net.tensor((400, 3), dtype, source, 7 + zero), net.tensor((400, 5), dtype, to, 7 + zero)
    weight = net.constant(rng.integers(-127, 128, (5, 3)) + zero, dtype, kernel, zero)
    bias = net.constant(rng.integers(-900, 900, 5), "int32")
    net.operator("FULLY_CONNECTED", [x, weight, bias], y, "FullyConnectedOptions", FusedActivationFunction=0)
    agree(net, [x], [y])


@pytest.mark.parametrize("quantized_inside", [False, True])
def test_activations_of_sixteen_bits_are_refused_by_name(quantized_inside: bool):
    """As inputs, and where a float input is quantised to them."""
    net = Tflite()
    x = net.tensor(ROWS, "float32") if quantized_inside else net.tensor(ROWS, "int16", 0.001)
    wide = net.tensor(ROWS, "int16", 0.001, name="wide") if quantized_inside else x
    if quantized_inside:
        net.operator("QUANTIZE", [x], wide, "QuantizeOptions")
    weight = net.constant(np.ones((5, 6)), "int8", 0.01)
    y = net.tensor((4, 5), "int16", 0.002)
    net.operator("FULLY_CONNECTED", [wide, weight], y, "FullyConnectedOptions", FusedActivationFunction=0)
    name = "wide" if quantized_inside else "t0"
    with pytest.raises(ImportModelError, match=rf"'{name}' holds quantised values of 16 bits \(16x8 quantisation\)"):
        import_tflite(net.build([x], [y]))
