"""Polynomials of exponentials and their kin, for float32, each from the constant up."""

from __future__ import annotations

from math import factorial

__all__ = [
    "ERF_BORDER",
    "ERF_FAR",
    "ERF_NEAR",
    "EXP",
    "EXP_DOUBLE",
    "LN2",
    "LN2_HIGH",
    "LN2_LOW",
    "LOG",
    "LOG2_E",
    "LOG_DOUBLE",
    "TANH",
]

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693145751953125, 1.428606820309417e-06
"""The first has few enough bits for its products with exponents to be exact."""
LN2 = 0.6931471805599453
EXP = (1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040)
"""Of exp within half a ln 2 around 0, from the constant up."""
LOG = (
    0.33333331174, -0.24999993993, 0.20000714765, -0.16668057665, 0.14249322787, -0.12420140846, 0.1167699874, -0.1151461031,
    0.070376836292,
)  # fmt: skip
"""Of (log(1 + f) - f + f^2 / 2) / f^3 for f from sqrt(1/2) - 1 to sqrt(2) - 1."""
TANH = (-0.333332819422, 0.133314422036, -0.0537397155531, 0.0206390887954, -0.00570498872745)
"""Of (tanh(x) - x) / x^3 in x^2."""
ERF_NEAR = (0.128379166, -0.376125336, 0.112819925, -0.0267681349, 0.00499119423, -0.000596761703)
"""Of (erf(x) - x) / x in x^2."""
ERF_FAR = (-0.128717512, -0.634846687, -0.106777877, 0.0242546219, -0.00388396438, 0.000383197126, -1.7285347e-05)
"""Of (log(1 - erf(x)) + x) / x in x."""
ERF_BORDER = 0.927734375
LOG_DOUBLE = (
    0.6666666666666735, 0.3999999999940942, 0.2857142874366239, 0.22222198432149784, 0.1818357216161805, 0.15313837699209373,
    0.14798198605116586,
)  # fmt: skip
"""Of log(1 + f) by s = f / (2 + f), in s^2."""
EXP_DOUBLE = tuple(1 / factorial(power) for power in range(11))
