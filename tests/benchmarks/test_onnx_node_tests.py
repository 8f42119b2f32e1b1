"""ONNX's own backend tests: none may fail, and what is skipped is refused with a reason."""

from collections import defaultdict

import numpy as np
import onnx
import pytest
from onnx import helper

from benchmarks import onnx_node_tests as node_tests
from vta.frontend.onnx.converters import CONVERTERS


@pytest.fixture(scope="module")
def results():
    return [node_tests.run(case) for case in node_tests.cases()]


def test_no_case_fails(results):
    assert len(results) > 1000
    assert [f"{result.name}: {result.reason}" for result in results if result.status == "failed"] == []


def test_every_imported_operator_passes_one_of_its_cases(results):
    found = defaultdict(set)
    for result in results:
        found[result.operator].add(result.status)
    assert [op for op in CONVERTERS if op in found and "passed" not in found[op]] == []


def test_a_skipped_case_has_a_reason(results):
    skipped = [result for result in results if result.status == "skipped"]
    assert all(result.reason for result in skipped)
    # A valid model is not called malformed: reasons of imported operators are refusals, not faults found by chance.
    chance = ("index out of range", "must be integers", "is missing", "broadcast", "object", "unpack")
    assert [result for result in skipped if result.operator in CONVERTERS and any(word in result.reason for word in chance)] == []


def case(op, outputs, **attributes):
    node = helper.make_node(op, ["x"], ["y"], **attributes)
    info = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (2,)) for name in "xy"]
    model = helper.make_model(helper.make_graph([node], "net", info[:1], info[1:]))
    x = np.float32([-1, 2])
    return node_tests.Case("test", "node", model, (((x,), (np.float32(outputs),)),), 1e-3, 1e-7)


def test_a_wrong_value_is_a_failure():
    assert node_tests.run(case("Relu", [0, 2])).status == "passed"
    wrong = node_tests.run(case("Relu", [1, 2]))
    assert (wrong.status, wrong.form, wrong.reason) == ("failed", "inputs", "output 0: 1 of 2 values differ")


def test_a_refusal_is_a_skip_with_the_reason():
    assert node_tests.run(case("Det", [0, 2])).reason == "Det: not a supported operator"


def test_the_table_counts():
    lines = list(node_tests.tables([node_tests.run(case("Relu", [0, 2])), node_tests.run(case("Det", [0, 2]))]))
    assert "| node | 1 | 1 |  |" in lines
    assert "| Relu | 1 |  |  |  |  |" in lines
    assert any(line.startswith("All 1 cases of these are refused by name") and line.endswith(": Det.") for line in lines)
