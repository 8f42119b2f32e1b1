"""A fixture that compares two graphs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate


@pytest.fixture(scope="session")
def same_results() -> Callable[[Graph, Graph], None]:
    """Check that two graphs agree on random inputs: floats closely, integers exactly."""

    def check(old: Graph, new: Graph) -> None:
        rng = np.random.default_rng(7)
        inputs = {
            n.name: rng.standard_normal(n.shape).astype(n.dtype)
            if n.dtype.startswith("float")
            else rng.integers(-128, 128, n.shape).astype(n.dtype)
            for n in old.inputs
        }
        for a, b in zip(evaluate(old, inputs), evaluate(new, inputs), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            if a.dtype.kind == "f":
                np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4)
            else:
                np.testing.assert_array_equal(a, b)

    return check
