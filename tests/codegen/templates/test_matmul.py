"""Products of two tensors, and transpositions, on every engine."""

from __future__ import annotations

import numpy as np
import pytest

import vta
from tests.attention_graphs import Attention, attention_graph, matmul_graph
from tests.integer_graphs import BASELINE, FEW_UOPS, TINY
from tests.oracles.emitter.gemm import emit_gemm
from tests.oracles.emitter.stream import OracleStream
from vta.codegen.memory import plan_memory
from vta.codegen.stream import Stream
from vta.codegen.templates import emit_operator
from vta.compiler.compile import compile_graph, graph_regions
from vta.config.hardware import HardwareConfig
from vta.difference.tile_reference import evaluate_operator
from vta.ir import names as ops
from vta.ir.graph import Graph, call, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization.lowering.rescale import rescaled
from vta.schedule.choose import choose_schedule
from vta.tile.gemm_operator import GemmOperator
from vta.tile.text.constants import constants_of
from vta.tile.text.parser import parse_operators
from vta.tile.text.printer import print_operators

PRODUCTS = [
    (BASELINE.block, BASELINE.block, (1, 3), 1, (0, 0)),
    (2 * BASELINE.block, 3 * BASELINE.block, (1, 20), 2, (7, -5)),
    (BASELINE.block, 2 * BASELINE.block, (3, 5), 3, (-128, -128)),
]


def bytes_of(graph: Graph) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {node.name: rng.integers(-128, 128, node.shape).astype(np.int8) for node in graph.inputs}


def require_exact(graph: Graph, hw: HardwareConfig, device: str = "cycle") -> int:
    """What a device computes is what the interpreter does; returns how many regions there are."""
    values = bytes_of(graph)
    module = compile_graph(graph, hw)
    with vta.open_device(device, hw) as opened, opened.load(module) as loaded:
        report = loaded.run(**values)
    for wanted, got in zip(evaluate(graph, values), report.outputs, strict=True):
        np.testing.assert_array_equal(got, wanted)
    return len(module.regions)


@pytest.mark.parametrize("hw", [BASELINE, TINY, FEW_UOPS], ids=["baseline", "tiny", "few_uops"])
@pytest.mark.parametrize("sizes", PRODUCTS)
def test_products(sizes: tuple, hw: HardwareConfig):
    channels, columns, *rest = sizes
    scaled = channels * hw.block // BASELINE.block, columns * hw.block // BASELINE.block
    assert require_exact(matmul_graph(*scaled, *rest), hw) == 1


@pytest.mark.parametrize("device", ["sim", "cycle"])
@pytest.mark.parametrize(("groups", "channels", "columns"), [(1, 1, 3), (2, 3, 1), (3, 2, 2)])
def test_transpositions(groups: int, channels: int, columns: int, device: str):
    block = BASELINE.block
    x = graph_input("x", (1, groups * channels * block, 1, columns * block), "int8")
    turned = call(ops.TRANSPOSE2D, [call(ops.RELU, [x], "relu")], "turned", groups=groups)
    assert require_exact(Graph((x,), (turned,)), BASELINE, device) == 1


@pytest.mark.parametrize("of", [Attention(), Attention(tokens=20, heads=3, head=8), Attention(16, 1, 32, softmax=False)])
def test_attention(of: Attention):
    """Two regions with a softmax between them, or one where nothing is."""
    assert require_exact(attention_graph(of), HardwareConfig.named("sim")) == (2 if of.softmax else 1)


@pytest.mark.parametrize("name", ["sim_rq_1x8", "pynq"])
def test_attention_on_other_configs(name: str):
    require_exact(attention_graph(Attention(20, 2, 16)), HardwareConfig.named(name))


def _operators(sizes: tuple = PRODUCTS[1]):
    (region,) = graph_regions(matmul_graph(*sizes), BASELINE)
    return region


def rescaled_graph() -> Graph:
    """Products of several blocks that end with a step of the requantize unit."""
    data, weights = (graph_input(name, (1, 128, 1, 32), "int8") for name in ("data", "weights"))
    product = call(ops.MATMUL2D, [data, weights], "product", groups=4)
    return Graph((data, weights), (rescaled(product, [1 << 23], [0], "product", once=True),))


@pytest.mark.parametrize("name", ["sim_rq", "sim_rq_1x8"])
def test_products_that_requantize(name: str):
    assert require_exact(rescaled_graph(), HardwareConfig.named(name)) == 1


@pytest.mark.parametrize(
    ("graph", "hw"), [(matmul_graph(*PRODUCTS[1]), BASELINE), (rescaled_graph(), HardwareConfig.named("sim_rq_1x8"))]
)
def test_streams_are_those_of_the_oracle(graph: Graph, hw: HardwareConfig):
    (region,) = graph_regions(graph, hw)
    addresses, _ = plan_memory(region.operators, region.inputs, region.outputs, hw)
    stream, oracle = Stream(hw), OracleStream(hw)
    for number, operator in enumerate(region.operators):
        assert isinstance(operator, GemmOperator)
        schedule = choose_schedule(operator, hw)
        with stream.origin(number, number):
            emit_operator(operator, stream, addresses, schedule)
        with oracle.origin(number, number):
            emit_gemm(oracle, operator, schedule, addresses)
    np.testing.assert_array_equal(stream.instructions, oracle.instructions)
    np.testing.assert_array_equal(stream.accesses, [access for row in oracle.rows for access in row.accesses])
    np.testing.assert_array_equal(stream.uops, oracle.uops)


def test_the_text_is_read_back():
    region = _operators()
    text = print_operators(region)
    parsed = parse_operators(text, constants_of(region.operators)).region
    assert print_operators(parsed) == text
    assert [operator.workload_key for operator in parsed.operators] == [operator.workload_key for operator in region.operators]


def test_the_reference_of_tiles():
    """What the operators compute on blocks is the graph's product."""
    graph = matmul_graph(16, 32, (1, 4), 1, (7, -5))
    region = graph_regions(graph, BASELINE)[0]
    values = bytes_of(graph)
    memory = {}
    block = BASELINE.block
    for tensor in region.inputs:
        name = tensor.name.rpartition(".")[0]
        packed = values[name].reshape(tensor.blocks, block, -1).swapaxes(1, 2)
        memory[tensor.name] = np.ascontiguousarray(packed).reshape(-1, 1, block)
    for operator in region.operators:
        memory[operator.output.name] = evaluate_operator(operator, memory, BASELINE).view(np.int8).reshape(-1, 1, block)
    (wanted,) = evaluate(graph, values)
    np.testing.assert_array_equal(
        memory[region.outputs[0].name].reshape(2, -1, block).swapaxes(1, 2).reshape(wanted.shape), wanted
    )


@pytest.mark.parametrize(("channels", "columns"), [(15, 16), (16, 15)])
def test_blocks_that_are_not_full_stay_on_the_host(channels: int, columns: int):
    module = compile_graph(matmul_graph(channels, columns, (1, 4), 1, (0, 0)), BASELINE)
    assert "stored_tensors_are_weights" in {placement.rule for placement in module.placements}
