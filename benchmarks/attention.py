"""A transformer block on VTA: the table of docs/attention.md.

    python -m benchmarks.attention [--config NAME ...] [--tokens N] [--heads N] [--head N] [--hidden N]

A block is attention and two dense layers with GELU, each with a layer norm before and a residual after it: of TFLite's int8
operators, and of ONNX's float ones, which are quantized on 16 random samples. On configs that compute the softmax these are
there with a causal mask, too, and with that and a bias of distances; beside them, the same with the softmax left in float. For
each config: regions, operators on the host, cycles of the device and of the whole network by the estimate of docs/partition.md,
and the signal to noise ratio of the device against real numbers. `device = interpreter` is required.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from benchmarks.public_nets import total_cycles
from vta.compiler.compile import compile_model
from vta.compiler.options import CompileOptions
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.frontend.onnx import import_onnx
from vta.frontend.tflite import import_tflite
from vta.ir import names as ops
from vta.ir.arithmetic.decibels import decibels
from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate
from vta.quantization.config import QuantizeConfig
from vta.quantization.float.plan.rows import longest_row
from vta.runtime import Module
from vta.runtime.compiled_module import CompiledModule
from vta.testing.transformer_block import Sizes, distance_bias, onnx_block, tflite_block

Array = NDArray[Any]

_CONFIGS = ("sim", "sim_rq", "sim_rq_1x8", "pynq")
_SAMPLES = 16


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", nargs="+", default=_CONFIGS)
    for name, size in (("tokens", 64), ("heads", 4), ("head", 32), ("hidden", 512)):
        parser.add_argument(f"--{name}", type=int, default=size)
    args = parser.parse_args()
    sizes = Sizes(args.tokens, args.heads, args.head, args.hidden)
    print("| block | config | regions | operators on the host | MACs on VTA | cycles | with the host | device, real numbers |")
    print("|---|---|---|---|---|---|---|---|")
    for config in args.config:
        hw = HardwareConfig.named(config)
        block = tflite_block(sizes)
        graph = import_tflite(block.content)
        compiled = compile_model(graph, hw)
        output, cycles = _run(compiled, hw, {graph.inputs[0].name: block.levels})
        print(_row("TFLite, int8", config, compiled, hw, cycles, block.error(output)))
        masks: list[tuple[str, dict[str, Any]]] = [("", {})]
        if longest_row(hw):
            biased = {"bias": distance_bias(sizes.tokens, sizes.heads), "causal": True}
            masks += [(", causal", {"causal": True}), (", causal, distances", biased)]
        for said, mask in masks:
            graph = import_onnx(onnx.load_model_from_string(onnx_block(sizes, **mask)))
            print(_float_row(f"ONNX, float{said}", graph, config, hw))
            if said:
                softmaxes = tuple(node.name for node in graph.calls() if node.op == ops.SOFTMAX)
                print(_float_row(f"ONNX, float{said}; softmax in float", graph, config, hw, softmaxes))


def _float_row(block: str, graph: Graph, config: str, hw: HardwareConfig, in_float: tuple[str, ...] = ()) -> str:
    samples = np.random.default_rng(1).standard_normal((_SAMPLES, *graph.inputs[0].shape[1:])).astype(np.float32)
    name = graph.inputs[0].name
    options = CompileOptions(quantize=QuantizeConfig(skip_layers=in_float))
    compiled = compile_model(graph, hw, calibration={name: samples}, options=options)
    output, cycles = _run(compiled, hw, {name: samples[:1]})
    (wanted,) = evaluate(graph, {name: samples[:1]})
    return _row(block, config, compiled, hw, cycles, decibels(wanted, output))


def _run(compiled: CompiledModule, hw: HardwareConfig, values: dict[str, Array]) -> tuple[Array, int]:
    with Module(compiled, CycleDevice(hw)) as module:
        check = module.check(values)
        assert check.bit_exact, "the device gives what the interpreter does"
        return module.run(values).outputs[0], check.run.cycles or 0


def _row(name: str, config: str, compiled: CompiledModule, hw: HardwareConfig, cycles: int, error: float) -> str:
    host = sum(placement.where == "host" for placement in compiled.placements)
    macs = sum(record.macs for region in compiled.regions for record in region.operators) / compiled.total_macs
    whole = total_cycles(compiled, hw, cycles)
    return f"| {name} | {config} | {len(compiled.regions)} | {host} | {macs:.1%} | {cycles:,} | {whole:,} | {error:.1f} dB |"


if __name__ == "__main__":
    main()
