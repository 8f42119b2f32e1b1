from __future__ import annotations

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import call, graph_input


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [(), (1,), (-1, 0), (0, 1, 2)])
def test_reductions(run, axis, keepdims):
    x = np.random.default_rng(0).integers(-128, 128, (2, 3, 4)).astype(np.int32)
    real = x.astype(np.float32)
    over = axis or None
    np.testing.assert_array_equal(run("sum", x, axis=axis, keepdims=keepdims), x.sum(over, keepdims=keepdims))
    np.testing.assert_array_equal(run("max", x, axis=axis, keepdims=keepdims), x.max(over, keepdims=keepdims))
    np.testing.assert_allclose(run("mean", real, axis=axis, keepdims=keepdims), real.mean(over, keepdims=keepdims), rtol=1e-6)


def test_integer_sums_wrap_and_keep_their_type(run):
    y = run("sum", np.full(2, 2**30, np.int32))
    assert (y.dtype, y.item()) == (np.int32, -(2**31))
    assert run("sum", np.full(2, 100, np.int8)).item() == -56


def test_errors():
    x = graph_input("x", (2, 3), "int32")
    with pytest.raises(GraphError, match=r"axis must be in -2\.\.1 for 2 dimensions, got 2"):
        call("sum", [x], axis=(2,))
    with pytest.raises(GraphError, match="axis must be a tuple of integers, got 1"):
        call("sum", [x], axis=1)
    with pytest.raises(GraphError, match="must be float32 or float64, got int32"):
        call("mean", [x])
