"""Post-training quantisation: float graph -> quantised dialect -> integer operators."""

from vta.quantize.bounds import accumulator_bound, overflow_warnings
from vta.quantize.calibrate import calibrate
from vta.quantize.config import QuantizeConfig
from vta.quantize.lower import lower, with_bounds
from vta.quantize.quantizer import equalised, is_quantised, quantize
from vta.quantize.report import LayerQuality, signal_to_noise
from vta.quantize.tflite_lowering import Notes

__all__ = [
    "LayerQuality",
    "Notes",
    "QuantizeConfig",
    "accumulator_bound",
    "calibrate",
    "equalised",
    "is_quantised",
    "lower",
    "overflow_warnings",
    "quantize",
    "signal_to_noise",
    "with_bounds",
]
