"""ONNX: float networks of operator set 7 and newer."""

from __future__ import annotations

from vta.frontend.onnx.importer import import_onnx, load_onnx

__all__ = ["import_onnx", "load_onnx"]
