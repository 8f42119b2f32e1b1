"""TFLite: float networks, and int8 and uint8 ones with the exact arithmetic of TFLite's reference kernels."""

from __future__ import annotations

from vta.frontend.tflite.importer import import_tflite, load_tflite

__all__ = ["import_tflite", "load_tflite"]
