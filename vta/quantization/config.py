"""What a user can choose about quantisation."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral

from vta.errors import UsageError
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

__all__ = ["CALIBRATIONS", "EQUALIZATIONS", "REQUANTIZATIONS", "ROUNDINGS", "SCALES", "ZERO_POINTS", "QuantizeConfig"]

CALIBRATIONS = ("global_scale", "max", "percentile", "kl", "mse")
"""Ways to find the range of an activation."""

SCALES = ("real", "power_of_two")
"""What an activation's scale may be."""

EQUALIZATIONS = ("measured", "none", "depthwise", "all")
"""Between which layers ranges of channels are evened out: none, those of which one is depthwise or several read one, all, or as
with ``depthwise`` unless an output is measured to be less noisy without."""

ZERO_POINTS = ("measured", "none", "depthwise", "all")
"""In which networks the lowest level of int8 stands for zero in values that are never negative, as behind a ReLU, so that they
have twice as many levels: in none, in those with depthwise layers, whose noise adds up most, in all, or in those with depthwise
layers unless an output is measured to be less noisy without."""

ROUNDINGS = ("compensated", "nearest", "adaround")
"""How weights are rounded: so that their errors make up for each other on the calibration data, each to the nearest, or by an
optimisation for each layer, which takes longer."""

REQUANTIZATIONS = ("exact", "close", "shift")
"""How results of networks that came quantised are brought to int8: as the source framework does, within 1 of that in fewer steps,
or by shifts alone, with weights that are rounded once more."""


@dataclass(frozen=True, kw_only=True)
class QuantizeConfig:
    """How to quantise a float network to int8, and how to requantise in one that is quantised.

    Raises `UsageError` on construction for a value that is not allowed.
    """

    calibration: str = "mse"
    """One of `CALIBRATIONS`: a fixed range for all activations, or from data: the largest magnitude, a percentile of the
    magnitudes, the range of least Kullback-Leibler divergence, or that of least squared error."""
    global_scale: float = 8.0
    """The range of every activation under ``global_scale``, and whenever there is no data."""
    percentile: float = 99.99
    """Percentage of the non-zero magnitudes that ``percentile`` keeps in range."""
    scales: str = "real"
    """One of `SCALES`."""
    zero_points: str = "measured"
    """One of `ZERO_POINTS`; needs data, and accumulators of 32 bits. ``measured`` is as ``depthwise`` where nothing is measured:
    with states, or with `skip_conv_layers` given."""
    per_channel: bool = True
    """Whether each output channel has its own weight scale."""
    multipliers: bool = False
    """Whether a target that multiplies requantises by a multiplier and a shift, which spares up to one bit of the weights, in
    place of a shift alone, which is one ALU step shorter."""
    rounding: str = "compensated"
    """One of `ROUNDINGS`; each to the nearest without data."""
    bias_correction: bool = True
    """Whether biases make up for what rounding the weights adds on average over the calibration data."""
    equalize: str = "measured"
    """One of `EQUALIZATIONS`, first of all and on the calibration data; nothing happens without data. ``measured`` is as
    ``depthwise`` where nothing is measured: with states, or with `skip_conv_layers` given."""
    skip_conv_layers: tuple[int, ...] | None = None
    """Convolutions, transposed ones aside, that stay in float, counted from 0 in topological order. None: what is measured to
    pay is kept in float, of the first convolution and of the last layers before outputs."""
    skip_layers: tuple[str, ...] = ()
    """Names of layers that stay in float."""
    skip_dense: bool = False
    """Whether fully connected layers stay in float."""
    requantize: str = "exact"
    """One of `REQUANTISATIONS`, for networks that came quantised."""

    def __post_init__(self) -> None:
        if self.calibration not in CALIBRATIONS:
            raise UsageError(f"calibration = {shown(self.calibration)} is unknown; allowed: {', '.join(CALIBRATIONS)}")
        if self.scales not in SCALES:
            raise UsageError(f"scales = {shown(self.scales)} is unknown; allowed: {', '.join(SCALES)}")
        if self.equalize not in EQUALIZATIONS:
            raise UsageError(f"equalise = {shown(self.equalize)} is unknown; allowed: {', '.join(EQUALIZATIONS)}")
        if self.zero_points not in ZERO_POINTS:
            raise UsageError(f"zero_points = {shown(self.zero_points)} is unknown; allowed: {', '.join(ZERO_POINTS)}")
        if self.rounding not in ROUNDINGS:
            raise UsageError(f"rounding = {shown(self.rounding)} is unknown; allowed: {', '.join(ROUNDINGS)}")
        if self.requantize not in REQUANTIZATIONS:
            raise UsageError(f"requantise = {shown(self.requantize)} is unknown; allowed: {', '.join(REQUANTIZATIONS)}")
        if not _all_are(self.skip_layers, str):
            raise UsageError(f"skip_layers = {shown(self.skip_layers)}: expected names of layers, such as ('conv1',)")
        if self.skip_conv_layers is not None and not _all_are(self.skip_conv_layers, Integral):
            raise UsageError(f"skip_conv_layers = {shown(self.skip_conv_layers)}: expected numbers of convolutions, such as (0,)")
        if not 0 < self.percentile <= 100:
            raise UsageError(f"percentile = {shown(self.percentile)} is out of range; allowed: above 0, to 100")
        if not 0 < self.global_scale < float("inf"):
            raise UsageError(f"global_scale = {shown(self.global_scale)} is not allowed; it must be positive and finite")


def _all_are(values: object, kind: type) -> bool:
    """Whether these are values of a kind; a text is none of several."""
    return isinstance(values, Collection) and not isinstance(values, str) and all(isinstance(value, kind) for value in values)
