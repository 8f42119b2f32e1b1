"""The diffs of docs/extending.md and docs/adding-a-board.md apply to the package, and what they make works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIFF = re.compile(r"^```diff\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^--- (\S+)\n\+\+\+ b/(\S+)\n(.*?)(?=^--- |\Z)", re.MULTILINE | re.DOTALL)

TRY = """
import numpy as np
import onnx
from onnx import TensorProto, helper

from vta.boards.description import DRIVERS
from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.devices.board import BoardHost
from vta.devices.mine import MyHost, open_mine
from vta.errors import DeviceError
from vta.frontend import load_model
from vta.ir.interpreter import evaluate

nodes = [helper.make_node("Tan", ["x"], ["y"])]
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy")
model = helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.save(model, "tan.onnx")
values = np.float32([[0, 1, 2, 3]])
np.testing.assert_array_equal(evaluate(load_model("tan.onnx"), {"x": values})[0], np.tan(values))

arty = find_board("arty-z7-20")
assert (arty.core_design().clock_mhz, arty.capacity.dsp) == (100, 220)

assert "mine" in DRIVERS
board = find_board("pynq-z2")
host: BoardHost = MyHost(board.design("core"))
try:
    open_mine(HardwareConfig.named("sim_1x8"), board, board.design("core"), 1 << 20, None, None)
except DeviceError as error:
    assert "yet" in str(error)
else:
    raise AssertionError("a driver without registers opened")
"""


def applied(lines, text, name):
    """`text` with one hunk, whose place is found by the lines that it keeps and removes."""
    before = "\n".join(line[1:] for line in lines if line[:1] != "+")
    after = "\n".join(line[1:] for line in lines if line[:1] != "-")
    if not before:
        return after + "\n"
    assert text.count(before) == 1, f"{name}: not there once:\n{before}"
    return text.replace(before, after)


@pytest.fixture
def extended(tmp_path):
    """A copy of the package with all diffs of the page."""
    names = shutil.ignore_patterns("__pycache__", "*.onnx")
    shutil.copytree(ROOT / "vta", tmp_path / "vta", ignore=names)
    for folder in ("bitstreams", "hw_config"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("extending.md", "adding-a-board.md")]
    for block in DIFF.findall("\n".join(pages)):
        for _, name, body in FILE.findall(block):
            path = tmp_path / name
            hunk = [line for line in body.splitlines() if not line.startswith("@@")]
            path.write_text(applied(hunk, path.read_text() if path.exists() else "", name))
    return tmp_path


def test_the_diffs_apply_and_work(extended):
    done = subprocess.run([sys.executable, "-c", TRY], cwd=extended, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
