"""What another quantiser, that of onnxruntime, makes of the same network with the same samples."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import version_converter
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

__all__ = ["PEERS", "Peer"]

Array = NDArray[Any]

PEERS = {
    "onnxruntime, MinMax": (CalibrationMethod.MinMax, False),
    "onnxruntime, MinMax, last layer in float": (CalibrationMethod.MinMax, True),
    "onnxruntime, Percentile, last layer in float": (CalibrationMethod.Percentile, True),
}
"""Ways to calibrate, and whether the last layer and all behind it stay in float."""
_LAYERS = ("Conv", "Gemm")
_WITH_AXIS = 13
"""The first version of ONNX in which DequantizeLinear has an axis."""


class _Reader(CalibrationDataReader):  # type: ignore[misc]
    """Samples one by one."""

    def __init__(self, name: str, samples: Array) -> None:
        self._left: Iterator[dict[str, Array]] = iter([{name: sample[None]} for sample in samples])

    def get_next(self) -> dict[str, Array] | None:
        """The next sample; None after the last."""
        return next(self._left, None)


def _with_scales_for_channels(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same network in a version of ONNX whose quantised weights may have a scale for each channel; its nodes have names."""
    own = next(opset.version for opset in model.opset_import if not opset.domain)
    found = onnx.ModelProto()
    found.CopyFrom(version_converter.convert_version(model, _WITH_AXIS) if own < _WITH_AXIS else model)
    for at, node in enumerate(found.graph.node):
        node.name = node.name or f"{node.op_type}_{at}"
    return found


class Peer:
    """An ONNX network of one input, which onnxruntime quantises and runs, one sample at a time."""

    def __init__(self, model: onnx.ModelProto, name: str, calibration: Array) -> None:
        self.model, self.name, self.calibration = _with_scales_for_channels(model), name, calibration

    def float_outputs(self, samples: Array) -> list[Array]:
        """What the network itself gives in float."""
        return self._run(self.model, samples)

    def outputs(self, way: str, samples: Array) -> list[Array]:
        """What the network gives, quantised in one of the ways of `PEERS`: asymmetric int8, symmetric weights for each channel.

        It runs as the operators that the quantiser wrote, in float between them, so that no saturating instruction takes part.
        """
        method, keeps_last = PEERS[way]
        kept = [node.name for node in self.model.graph.node[self._last_layer() :]] if keeps_last else []
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "float.onnx", Path(folder) / "int8.onnx"
            onnx.save(self.model, source)
            # It prints how far it is.
            with redirect_stdout(sys.stderr):
                quantize_static(
                    source,
                    target,
                    _Reader(self.name, self.calibration),
                    quant_format=QuantFormat.QDQ,
                    per_channel=True,
                    activation_type=QuantType.QInt8,
                    weight_type=QuantType.QInt8,
                    calibrate_method=method,
                    nodes_to_exclude=kept,
                )
            return self._run(onnx.load(target), samples)

    def _last_layer(self) -> int:
        return max(at for at, node in enumerate(self.model.graph.node) if node.op_type in _LAYERS)

    def _run(self, model: onnx.ModelProto, samples: Array) -> list[Array]:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = [session.run(None, {self.name: sample[None]}) for sample in samples]
        return [np.concatenate(values) for values in zip(*found, strict=True)]
