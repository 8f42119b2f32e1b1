"""Post-training quantisation: float graph -> quantised dialect -> integer operators."""

from vta.quantize.bounds import accumulator_bound, overflow_warnings
from vta.quantize.calibrate import calibrate
from vta.quantize.config import QuantizeConfig
from vta.quantize.lower import lower, with_bounds
from vta.quantize.quantizer import quantize

__all__ = ["QuantizeConfig", "accumulator_bound", "calibrate", "lower", "overflow_warnings", "quantize", "with_bounds"]
