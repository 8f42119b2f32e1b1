"""The fuzzer of imports: models are the same for a seed, legal and varied; differences are found, shrunk and written down."""

import io
import json
from dataclasses import replace
from random import Random

import numpy as np
import onnx
import pytest

from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig
from vta.frontend.onnx.converters import CONVERTERS as ONNX
from vta.frontend.tflite.converters import CONVERTERS as TFLITE
from vta.testing.import_fuzz import check as check_module
from vta.testing.import_fuzz.__main__ import main
from vta.testing.import_fuzz.campaign import Graph, Settings, config_of, fuzz, graphs_of
from vta.testing.import_fuzz.check import check, data_of, examine
from vta.testing.import_fuzz.families import FAMILIES, generate
from vta.testing.import_fuzz.onnx_files import onnx_model
from vta.testing.import_fuzz.onnx_net import OnnxNet
from vta.testing.import_fuzz.oracles import OracleError, framework_values, model_bytes
from vta.testing.import_fuzz.shrink import Case, shrink
from vta.testing.import_fuzz.tolerance import close_to_ties, tolerances

KINDS = [(frontend, family) for frontend, families in FAMILIES.items() for family in families]


@pytest.fixture(autouse=True)
def _frameworks():
    pytest.importorskip("onnxruntime")
    pytest.importorskip("ai_edge_litert")


@pytest.mark.parametrize(("frontend", "family"), KINDS)
def test_a_seed_gives_one_model(frontend, family):
    one, same, other = (generate(frontend, family, seed) for seed in (3, 3, 4))
    assert model_bytes(one) == model_bytes(same) != model_bytes(other)
    for name, data in one.feeds(5).items():
        np.testing.assert_array_equal(data, same.feeds(5)[name])


@pytest.mark.parametrize(("frontend", "family"), KINDS)
def test_nearly_all_models_are_legal(frontend, family):
    refused = 0
    for seed in range(20):
        net = generate(frontend, family, seed)
        try:
            values = framework_values(net, net.feeds(seed))
        except OracleError as error:
            # Older releases lack kernels; that says nothing of the model.
            refused += "NOT_IMPLEMENTED" not in str(error)
            continue
        for name in net.outputs:
            assert values[name].dtype == net.values[name].dtype
            # ONNX infers other shapes than its runtime computes for some windows.
            assert frontend == "onnx" or values[name].shape == net.values[name].shape
    assert refused <= 3


def kinds_of(frontend, count=160):
    nets = [generate(frontend, family, seed) for family in FAMILIES[frontend] for seed in range(count)]
    return {kind for net in nets for kind in net.kinds()}, nets


def test_onnx_models_are_varied():
    found, nets = kinds_of("onnx")
    # The rest needs an operator set that ONNX Runtime has not got, is only for constants, or for one form (dense layers),
    # or gives other rows here.
    rare = {
        "Einsum",
        "Mish",
        "MeanVarianceNormalization",
        "Swish",
        "RMSNormalization",
        "Range",
        "NonZero",
        "Size",
        "CastLike",
        "Mod",
        "Constant",
        "Upsample",
        "NonMaxSuppression",
    }
    # Written by ONNX Runtime's optimiser, whose models have tests of their own, or guards of attention.
    rare |= {kind for kind in ONNX if kind.endswith("Gelu (com.microsoft)") or kind.startswith(("Fused", "Skip"))}
    rare |= {"IsInf", "IsNaN"}
    # PyTorch's `fold` alone is exported as this.
    rare |= {"Col2Im"}
    quantizers = {kind for kind in ONNX if kind.startswith(("QuantizeLinear (", "DequantizeLinear ("))}
    # Compared with ONNX Runtime over streams of their own, as they need graphs inside, or sequences.
    recurrent = {"If", "Loop", "Scan", "RNN", "LSTM", "GRU", "DynamicQuantizeLSTM (com.microsoft)"}
    assert set(ONNX) - found <= rare | quantizers | recurrent
    assert {net.opset for net in nets} >= set(range(7, 23))
    assert {net.ir_version for net in nets} == {3, 8}
    assert {value.style for net in nets for value in net.values.values() if value.data is not None} == {
        "initializer",
        "input",
        "node",
    }
    assert any(len(net.outputs) > 2 for net in nets)
    assert any(name in ("file", "größe") for net in nets for name in net.values)


def test_tflite_models_are_varied():
    found, nets = kinds_of("tflite")
    # LiteRT has no reference kernel for ELU.
    assert set(TFLITE) - found <= {"ELU", "PADV2"} | (set(TFLITE) - KNOWN_TFLITE)
    fused = {step.attributes.get("FusedActivationFunction") for net in nets for step in net.steps}
    assert fused >= {0, 1, 2, 3}
    assert any(len(value.scales) > 1 for net in nets for value in net.values.values())


KNOWN_TFLITE = {
    *("ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "DEQUANTIZE", "DIV", "EXPAND_DIMS"),
    *("FULLY_CONNECTED", "HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "MAXIMUM", "MAX_POOL_2D", "MEAN", "MINIMUM", "MUL", "PAD"),
    *("QUANTIZE", "RELU", "RELU6", "RELU_N1_TO_1", "RESHAPE", "RESIZE_NEAREST_NEIGHBOR", "SLICE", "SOFTMAX", "SQUEEZE"),
    *("SUB", "TANH", "TRANSPOSE", "TRANSPOSE_CONV"),
}
"""What the importer has had from the start; what came later may be rare."""


def test_exact_models_allow_no_difference():
    net = OnnxNet(Random(1), 17)
    data = net.input((1, 4), draw="normal")
    exact = net.apply("Add", net.apply("Relu", data), net.floats((4,), "normal"))
    rounded = net.apply("Exp", data)
    description = net.described([exact, rounded])
    feeds, values = data_of(description, 0)
    allowed = tolerances(description, feeds, values)
    assert allowed[exact] == 0
    assert 0 < allowed[rounded] < 1e-4 * np.abs(values[rounded]).max()


def test_values_close_to_a_tie_are_no_measure():
    net = OnnxNet(Random(1), 17)
    data = net.input((1, 2), draw="normal")
    scale, zero = net.constant(np.float32(0.1)), net.constant(np.int8(0))
    quantized = net.apply("QuantizeLinear", data, scale, zero)
    description = net.described([quantized])
    assert close_to_ties(description, {data: np.array([[0.15000001, 0.2]], np.float32)})
    assert not close_to_ties(description, {data: np.array([[0.12, 0.2]], np.float32)})


@pytest.fixture
def shifted_clip(monkeypatch):
    """An importer that takes the lower bound of Clip for something else."""

    def imported(net):
        steps = []
        for step in net.steps:
            bound = step.kind == "Clip" and len(step.inputs) > 1 and net.values.get(step.inputs[1])
            inputs = (step.inputs[0], "", *step.inputs[2:]) if bound else step.inputs
            steps.append(replace(step, inputs=inputs))
        return original(replace(net, steps=tuple(steps)))

    original = check_module._imported
    monkeypatch.setattr(check_module, "_imported", imported)


def wrong_clip():
    """A model of several operators, one of them Clip."""
    net = OnnxNet(Random(2), 17)
    data = net.input((2, 3, 8, 8))
    result = net.apply("Conv", net.apply("Relu", data), net.floats((4, 3, 3, 3)), pads=[1, 1, 1, 1])
    result = net.apply("Clip", net.apply("Add", result, net.floats((4, 1, 1))), net.constant(np.float32(1.5)))
    net.apply("Flatten", net.apply("MaxPool", result, kernel_shape=[2, 2]), axis=1)
    return net.described()


@pytest.mark.usefixtures("shifted_clip")
def test_a_difference_is_found_and_made_small():
    net = wrong_clip()
    outcome = check(net, 0)
    assert (outcome.status, outcome.kind) == ("failed", "values")
    case = Case(net, data_of(net, 0)[0])
    small = shrink(case, lambda candidate: examine(candidate.net, candidate.feeds).status == "failed", 60)
    assert small.net.kinds() == ("Clip",)
    assert all(data.size == 1 for data in small.feeds.values())
    onnx.checker.check_model(onnx_model(small.net))
    assert examine(small.net, small.feeds).status == "failed"


def test_a_right_model_is_the_same_and_runs_on_a_device():
    assert check(wrong_clip(), 0).status == "same"
    outcome = check(generate("tflite", "int8", 0), 0, HardwareConfig.named("sim"))
    assert (outcome.status, outcome.on_device) == ("same", True)


def test_what_the_framework_refuses_is_counted_apart():
    net = wrong_clip()
    broken = replace(net, steps=tuple(replace(step, attributes={"no_such": 1}) for step in net.steps))
    assert check(broken, 0).status == "illegal"


def test_an_internal_exception_is_a_failure(monkeypatch):
    def imported(net):
        raise IndexError("list index out of range")

    monkeypatch.setattr(check_module, "_imported", imported)
    outcome = check(wrong_clip(), 0)
    assert (outcome.status, outcome.kind) == ("failed", "crash")
    assert "IndexError" in outcome.message


def test_seeds_go_round_the_families():
    graphs = list(graphs_of({"onnx": ("layout", "qdq"), "tflite": ("int8",)}, range(4, 10)))
    assert [graph.family for graph in graphs] == ["qdq", "int8", "layout", "qdq", "int8", "layout"]
    assert graphs[0] == Graph("onnx", "qdq", 4)
    configs = {config_of(Graph("onnx", "qdq", seed), 0.5) for seed in range(400)}
    assert configs == {"", *shipped_configs()}
    assert config_of(graphs[0], 0.0) == ""


@pytest.mark.usefixtures("shifted_clip")
def test_a_campaign_writes_what_fails(monkeypatch, tmp_path, capsys):
    graphs = list(graphs_of({"onnx": ("elementwise",)}, range(60)))
    failures = []
    summary = fuzz(graphs, Settings(0.0, 2.0), report=failures.append)
    assert summary.graphs == 60
    assert failures == summary.failures
    assert summary.failures
    for failure in failures:
        assert failure.operators == ("Clip",)
        with np.load(io.BytesIO(failure.data)) as stored:
            assert "input_0" in stored
        onnx.load_model_from_string(failure.model)


def test_the_command_line(tmp_path, capsys):
    arguments = ["--graphs", "8", "--frontends", "onnx", "--families", "layout", "--jobs", "1", "--json"]
    assert main([*arguments, "--out", str(tmp_path / "out"), "--device-share", "0"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["graphs"] == 8
    assert found["failed"] == 0
    assert found["families"] == {"onnx/layout": 8}
    assert not (tmp_path / "out").exists()
    assert main(["--frontends", "tflite", "--families", "qdq"]) == 2
    assert "tflite has no family qdq" in capsys.readouterr().err
