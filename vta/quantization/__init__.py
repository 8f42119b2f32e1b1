"""Post-training quantisation: float graph -> quantised dialect -> integer operators."""

from vta.quantization.config import QuantizeConfig
from vta.quantization.float.calibrate import calibrate
from vta.quantization.float.quantizer import equalized, is_quantized, quantize
from vta.quantization.lowering.bounds import accumulator_bound, overflow_warnings
from vta.quantization.lowering.lower import lower, with_bounds
from vta.quantization.lowering.tflite import Notes
from vta.quantization.report import LayerQuality, signal_to_noise

__all__ = [
    "LayerQuality",
    "Notes",
    "QuantizeConfig",
    "accumulator_bound",
    "calibrate",
    "equalized",
    "is_quantized",
    "lower",
    "overflow_warnings",
    "quantize",
    "signal_to_noise",
    "with_bounds",
]
