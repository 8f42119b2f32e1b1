"""Outputs by name and by position."""

import numpy as np

from vta.runtime.values.outputs import Outputs


def test_membership_is_of_names_and_of_the_arrays_themselves():
    first, second = np.zeros(3), np.zeros(3)
    outputs = Outputs((first,), ("logits",))
    assert "logits" in outputs
    assert "scores" not in outputs
    assert first in outputs
    assert second not in outputs
    assert None not in outputs
    assert outputs._ipython_key_completions_() == ["logits"]
