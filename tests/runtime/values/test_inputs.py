"""What is given to a network as it must be is seen to be so; all else is converted, or refused, as before."""

import numpy as np
import pytest

from vta.ir.graph import graph_input
from vta.runtime.values.inputs import InputTypes

TYPES = InputTypes((graph_input("x", (2, 3)), graph_input("y", (4,), "int8")))
X, Y = np.zeros((2, 3), np.float32), np.zeros(4, np.int8)


def test_what_fits():
    assert TYPES.fit({"x": X, "y": Y})
    assert TYPES.fit({"y": Y, "x": X.T.copy().T})


OTHERS = {
    "one is missing": {"x": X},
    "one more": {"x": X, "y": Y, "z": Y},
    "another name": {"x": X, "z": Y},
    "another shape": {"x": X.T, "y": Y},
    "another type": {"x": X.astype(np.float64), "y": Y},
    "another order of bytes": {"x": X.astype(">f4"), "y": Y},
    "a list": {"x": X.tolist(), "y": Y},
    "no names": X,
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_is_left_to_others(case):
    assert not TYPES.fit(OTHERS[case])
