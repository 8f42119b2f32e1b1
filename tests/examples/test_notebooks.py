"""Notebooks run from their first cell to the last, and have no output of an earlier run."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra notebooks")
    nbformat = pytest.importorskip("nbformat", reason="needs the extra notebooks")
    pytest.importorskip("ipykernel", reason="needs the extra notebooks")
    monkeypatch.setenv("PYTHONPATH", str(path.parents[1]))
    monkeypatch.setenv("PYTHONWARNINGS", "")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    texts = [
        output.get("text", "") + str(output.get("data", {}).get("text/plain", ""))
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    last = texts[-1]
    assert "cycles" in last


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_output(path):
    cells = json.loads(path.read_text())["cells"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code")


def test_there_are_notebooks():
    assert {path.stem for path in NOTEBOOKS} >= {"tune_alu", "tune_convolutions"}
