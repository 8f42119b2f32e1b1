"""The sweep that comes with vta: 24 configs, ten convolutions, and the same table whether it was stopped or not."""

import signal
import subprocess
import sys
from dataclasses import replace

import pytest

pytest.importorskip("yaml", reason="needs the packages of the extra sweep")

from tests.rpc.support import ROOT, until
from vta.cli.main import main
from vta.records.shipped import shipped_folder
from vta.sweep.points import expand
from vta.sweep.session import run_sweep
from vta.sweep.spec import load_spec
from vta.sweep.table import Status, Table

PATH = shipped_folder() / "sweep_24.yaml"
SMALL = {"LOG_BLOCK": (4, 5), "LOG_ACC_BUFF_SIZE": (16,)}


def test_24_legal_configs_and_ten_convolutions():
    spec = load_spec(PATH)
    legal, illegal = expand(spec)
    assert (len(legal), len(illegal), len(spec.works)) == (24, 0, 10)
    assert len({design.hw for design in legal}) == 24


def test_a_name_is_enough(tmp_path, capsys):
    assert main(["sweep", "sweep_25", "-o", str(tmp_path)]) == 2
    assert "sweeps that come with vta: sweep_24" in capsys.readouterr().err


def test_a_small_form_killed_half_way_ends_the_same(tmp_path):
    """Kill -9 from outside, in the middle of a point."""
    spec = replace(load_spec(PATH), config=SMALL, workloads=load_spec(PATH).workloads[2:5], trials=4)
    whole = run_sweep(spec, tmp_path / "whole", jobs=1)
    assert [row.status for row in whole.rows] == [Status.OK] * 6
    program = (
        "import sys; from dataclasses import replace; from pathlib import Path; from vta.sweep.session import run_sweep\n"
        "from vta.sweep.spec import load_spec\n"
        f"spec = load_spec(Path({str(PATH)!r}))\n"
        f"spec = replace(spec, config={SMALL!r}, workloads=spec.workloads[2:5], trials=4)\n"
        f"run_sweep(spec, Path({str(tmp_path / 'cut')!r}), jobs=1)\n"
    )
    table = Table(tmp_path / "cut" / "sweep.csv")
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    until(lambda: table.path.exists() and table.path.read_text().count("\n") >= 4, lambda: "three points are not done")
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = len(table.read())
    run_sweep(spec, tmp_path / "cut", jobs=1, resume=True)
    assert before >= 3
    assert table.path.read_bytes() == whole.table.read_bytes()
