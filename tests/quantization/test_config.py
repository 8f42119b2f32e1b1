from __future__ import annotations

import pytest

from vta.errors import UsageError
from vta.quantization import QuantizeConfig


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"calibration": "entropy"}, "calibration = 'entropy' is unknown; allowed: global_scale, max, percentile, kl, mse"),
        ({"scales": "power2"}, "scales = 'power2' is unknown; allowed: real, power_of_two"),
        ({"zero_points": "some"}, "zero_points = 'some' is unknown; allowed: measured, none, depthwise, all"),
        ({"percentile": 0.0}, "percentile = 0.0 is out of range; allowed: above 0, to 100"),
        ({"percentile": 101.0}, "percentile = 101.0 is out of range"),
        ({"global_scale": 0.0}, "global_scale = 0.0 is not allowed; it must be positive and finite"),
    ],
)
def test_wrong_values_are_refused(values: dict, message: str):
    with pytest.raises(UsageError, match=message):
        QuantizeConfig(**values)
