"""Post-training quantisation: float graph -> quantised dialect -> integer operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vta.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from vta.quantization.bounds import accumulator_bound, overflow_warnings
    from vta.quantization.config import QuantizeConfig
    from vta.quantization.dialect import is_quantized
    from vta.quantization.float.calibration.calibrate import calibrate
    from vta.quantization.float.quantizer import equalized, quantize
    from vta.quantization.float.report import LayerQuality, signal_to_noise
    from vta.quantization.lowering.lower import lower, with_bounds

__all__ = [
    "LayerQuality",
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

__getattr__ = lazy_names(
    __name__,
    {
        "vta.quantization.config": ("QuantizeConfig",),
        "vta.quantization.dialect": ("is_quantized",),
        "vta.quantization.float.calibration.calibrate": ("calibrate",),
        "vta.quantization.float.quantizer": ("equalized", "quantize"),
        "vta.quantization.bounds": ("accumulator_bound", "overflow_warnings"),
        "vta.quantization.lowering.lower": ("lower", "with_bounds"),
        "vta.quantization.float.report": ("LayerQuality", "signal_to_noise"),
    },
)
