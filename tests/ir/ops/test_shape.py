from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import GraphError
from vta.ir.graph import call, graph_input

X = np.arange(24, dtype=np.int8).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("newshape", "shape"), [((-1,), (24,)), ((0, -1), (2, 12)), ((4, 0, -1), (4, 3, 2)), ((2, 1, 12), (2, 1, 12))]
)
def test_reshape(run, newshape, shape):
    np.testing.assert_array_equal(run("reshape", X, newshape=newshape), X.reshape(shape))


def test_moves(run):
    for y, expected in [
        (run("transpose", X, axes=(2, 0, -2)), X.transpose(2, 0, 1)),
        (run("nn.batch_flatten", X), X.reshape(2, 12)),
        (run("expand_dims", X, axis=-1), X[..., None]),
        (run("squeeze", X[:, :1], axis=(1,)), X[:, 0]),
        (run("squeeze", X[:, :1, :1], axis=(1, -1)), X[:, 0, 0]),
        (run("concatenate", X, X[:, :1], axis=1), np.concatenate([X, X[:, :1]], 1)),
        (run("concatenate", X), X),
        (run("broadcast_to", X[:, :1], shape=(5, 2, 3, 4)), np.broadcast_to(X[:, :1], (5, 2, 3, 4))),
        (run("take", X, np.int64([[2, -1]]), axis=1), X[:, [[2, 2]]]),
        (run("take", X, np.array(1, np.int32)), X[1]),
        (
            run("nn.pad", X, pad_width=((0, 0), (1, 2), (0, 1)), pad_value=-7),
            np.pad(X, ((0, 0), (1, 2), (0, 1)), constant_values=-7),
        ),
        (run("nn.upsampling", X[None], scale_h=2, scale_w=3), np.kron(X[None], np.ones((1, 1, 2, 3), np.int8))),
    ]:
        assert y.dtype == np.int8
        np.testing.assert_array_equal(y, expected)


@settings(deadline=None, max_examples=60)
@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-3, 3).filter(bool))
def test_slices_mean_what_python_means(run, begin, end, step):
    y = run("strided_slice", X, begin=(0, 0, begin), end=(2, 3, end), strides=(1, 1, step))
    np.testing.assert_array_equal(y, X[:, :, begin:end:step])


def test_nothing_aliases_its_input(run):
    for op, attributes in [
        ("strided_slice", {"begin": (0,) * 3, "end": (2,) * 3, "strides": (1,) * 3}),
        ("broadcast_to", {"shape": (2, 3, 4)}),
    ]:
        assert not np.shares_memory(run(op, X, **attributes), X)


def test_index_out_of_range(run):
    with pytest.raises(GraphError, match=r"positions must be in -3\.\.2, got 3"):
        run("take", X, np.int64([3]), axis=1)


@pytest.mark.parametrize(
    ("op", "shapes", "attributes", "message"),
    [
        ("reshape", [(2, 3)], {"newshape": (4, -1)}, "shape (2, 3) cannot become (4, -1)"),
        ("reshape", [(2, 3)], {"newshape": (5,)}, "shape (2, 3) has 6 elements, newshape (5,) has 5"),
        ("reshape", [(2, 3)], {"newshape": (-1, -1)}, "newshape may hold one -1"),
        ("reshape", [(2, 3)], {"newshape": (2, 3, 0)}, "copies a dimension that shape (2, 3) does not have"),
        ("transpose", [(2, 3)], {"axes": (0, 0)}, "axes must name each of the 2 dimensions once, got (0, 0)"),
        ("squeeze", [(2, 3)], {"axis": (0,)}, "squeezed dimensions must be 1, got shape (2, 3) with axis (0,)"),
        ("concatenate", [(2, 3), (3, 3)], {"axis": 1}, "shapes (2, 3) and (3, 3) differ beyond axis 1"),
        ("concatenate", [], {}, "concatenate takes 1 to any inputs, got 0"),
        ("strided_slice", [(2, 3)], {"begin": (0,), "end": (1,), "strides": (1,)}, "begin must have 2 entries, got (0,)"),
        ("strided_slice", [(2,)], {"begin": (0,), "end": (1,), "strides": (0,)}, "strides must not be 0"),
        ("broadcast_to", [(2, 3)], {"shape": (2,)}, "shape (2, 3) does not broadcast to (2,)"),
        ("take", [(2, 3), (1,)], {}, "indices must be int32 or int64, got float32"),
        ("nn.pad", [(2, 3)], {"pad_width": ((1, 1),)}, "pad_width must have 2 pairs"),
        ("nn.pad", [(2,)], {"pad_width": ((-1, 1),)}, "pad_width must not be negative"),
        ("nn.pad", [(2,)], {"pad_width": (1, 1)}, "pad_width must be a tuple of (before, after) pairs of integers, got (1, 1)"),
        ("nn.upsampling", [(2, 3)], {"scale_h": 2, "scale_w": 2}, "must have 4 dimensions"),
        ("nn.upsampling", [(1, 1, 2, 3)], {"scale_h": 1.5, "scale_w": 2}, "scale_h must be an integer of at least 1, got 1.5"),
        ("nn.batch_flatten", [()], {}, "must have at least 1 dimension"),
    ],
)
def test_errors(op, shapes, attributes, message):
    with pytest.raises(GraphError) as error:
        call(op, [graph_input(f"x{i}", s) for i, s in enumerate(shapes)], **attributes)
    assert message in str(error.value)


def test_pad_value_must_fit_the_type():
    with pytest.raises(GraphError, match=r"pad_value must be an integer in -128\.\.127 for int8, got 128"):
        call("nn.pad", [graph_input("x", (2,), "int8")], pad_width=((1, 1),), pad_value=128)
