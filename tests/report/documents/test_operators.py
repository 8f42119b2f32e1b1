"""The list of operators: what the front ends make, and the document."""

from pathlib import Path

import pytest

from vta.ir.operator import operator_names
from vta.partition.fused.fused_operator import ANCHORS, INT8_OPERATORS, STEPS
from vta.partition.fused.operator_support import on_vta_when
from vta.report.documents.front_ends import operators_by_front_end
from vta.report.documents.operators import as_json, operator_rows, rule_rows, supported_operators

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "supported-operators.md"


def test_the_document_is_what_the_rules_say():
    written = DOCUMENT.read_text(encoding="utf-8")
    assert written == supported_operators(), "run: vta operators -o docs/supported-operators.md"


def test_every_operator_has_a_row():
    rows = {row.operator: row for row in operator_rows()}
    assert list(rows) == operator_names()
    assert rows["nn.conv2d"].front_ends == {
        "ONNX": ("Conv", "Einsum", "FusedConv (com.microsoft)"),
        "TFLite": ("CONV_2D", "DEPTHWISE_CONV_2D", "SVDF"),
        "MXNet": ("Convolution",),
    }


def test_every_operator_of_a_fused_operator_says_when_it_runs_on_vta():
    assert all(on_vta_when(op) for op in (*ANCHORS, *STEPS, *INT8_OPERATORS))
    assert on_vta_when("nn.log_softmax") is None


def test_conditions_name_the_targets_that_they_bind():
    targets = {row.condition: row.targets for row in rule_rows()}
    assert targets["The target's ALU has no MUL, so only a tensor operand may be multiplied"] == (
        "tsim",
        "pynq",
        "ultra96",
        "zcu104",
        "de10nano",
    )


@pytest.mark.parametrize(
    ("front_end", "name", "operators"),
    [
        ("ONNX", "Abs", {"abs"}),
        ("ONNX", "Clip", {"clip"}),
        ("ONNX", "Conv", {"nn.conv2d", "nn.bias_add", "reshape"}),
        ("ONNX", "Mean", {"add", "multiply"}),
        ("ONNX", "ReduceMax", {"max"}),
        ("ONNX", "Shape", set()),
        ("TFLite", "MUL", {"cast", "clip", "multiply", "nn.relu", "qnn.requantize", "reshape", "subtract"}),
        ("TFLite", "DEQUANTIZE", {"qnn.dequantize"}),
        ("TFLite", "MAXIMUM", {"clip", "maximum", "nn.relu", "reshape"}),
        ("MXNet", "BatchNorm", {"nn.batch_norm"}),
        ("MXNet", "_plus_scalar", {"add"}),
        ("MXNet", "elemwise_sub", {"subtract"}),
    ],
)
def test_front_ends_make_operators(front_end, name, operators):
    assert operators_by_front_end()[front_end][name] == operators


def test_nearly_every_converter_makes_something():
    for front_end, names in operators_by_front_end().items():
        silent = [name for name, operators in names.items() if not operators]
        assert len(silent) < len(names) / 4, f"{front_end}: {silent}"


def test_rows_as_json():
    rows = as_json()
    assert {row["operator"] for row in rows["operators"]} == set(operator_names())
    assert all(row["condition"] for row in rows["conditions"])
