"""`vta diff`: what it prints, its JSON and its exit status."""

import json
from dataclasses import replace

import numpy as np
import pytest

from vta.cli.main import main
from vta.isa.instruction import AluOp, Opcode


@pytest.fixture(scope="module")
def files(demo_plain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    demo_plain.save(folder / "net.vta")
    (region,) = demo_plain.regions
    rows = region.program.instructions.copy()
    rows["imm"][np.flatnonzero((rows["opcode"] == Opcode.ALU) & (rows["alu_opcode"] == AluOp.MIN))[0]] -= 64
    wrong = replace(region, program=replace(region.program, instructions=rows))
    replace(demo_plain, regions=(wrong,)).save(folder / "wrong.vta")
    return folder


def test_equal_runs(files, capsys):
    assert main(["diff", f"{files}/net.vta@cycle", f"{files}/net.vta@reference"]) == 0
    assert capsys.readouterr().out.startswith("equal: ")


def test_runs_that_differ(files, capsys):
    assert main(["diff", f"{files}/wrong.vta", f"{files}/net.vta@reference", "--seed", "3", "--json"]) == 1
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert not found["equal"]
    assert found["first"]["made_by"]["kind"] == "instruction"
    assert "differ, first in" in printed.err
    assert main(["diff", f"{files}/wrong.vta", f"{files}/net.vta"]) == 1
    assert "made by" in capsys.readouterr().out


def test_a_file_that_is_not_there(files, capsys):
    assert main(["diff", "none.vta", f"{files}/net.vta"]) == 1
    assert "none.vta" in capsys.readouterr().err
