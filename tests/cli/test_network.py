"""Importing a network from the command line."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper, save

from vta.cli.main import main


@pytest.fixture
def open_model(tmp_path):
    """A model with dimensions open in both inputs, and its batch written as -1."""
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["y"], ["b"])]
    infos = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [-1, 3, "H", "W"]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["H", 4]),
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "ab"]
    path = tmp_path / "net.onnx"
    save(helper.make_model(helper.make_graph(nodes, "net", infos, results), ir_version=8), path)
    return path


def test_open_dimensions_come_with_the_options_that_close_them(open_model, capsys):
    command = ["compile", str(open_model), "--config", "sim", "-o", str(open_model.with_suffix(".vta"))]
    assert main(command) == 1
    assert "on the command line --input-shape x=1,3,H,W --input-shape y=H,4\n" in capsys.readouterr().err
    assert main([*command, "--input-shape", "x=1,3,8,8"]) == 0


@pytest.mark.parametrize(
    ("flag", "one", "other", "message"),
    [
        ("--input-shape", "x=1,3,8,8", "x=1,3,4,4", r"--input-shape x is given twice: (1, 3, 8, 8) and (1, 3, 4, 4)"),
        ("--input-value", "x=1", "x=2", "--input-value x is given twice: 1 and 2"),
        ("--state", "x=a", "x=b", "--state x is given twice: a and b"),
    ],
)
def test_what_is_said_twice_must_be_the_same(open_model, capsys, flag, one, other, message):
    assert main(["compile", str(open_model), flag, one, flag, other]) == 2
    assert message in capsys.readouterr().err
