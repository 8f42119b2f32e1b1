"""`vta diff` with a device of another machine: its outputs are compared."""

import json
from dataclasses import replace

import numpy as np

from vta.cli.main import main
from vta.isa.instruction import AluOp, Opcode


def test_a_device_of_a_tracker_and_the_reference(serve, tracker, compiled, artifact, tmp_path, capsys):
    serve()
    place = f"{tracker.address}/sim"
    assert main(["diff", f"{artifact}@{place}", f"{artifact}@reference", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["compared"] == 1
    (region,) = compiled.regions
    rows = region.program.instructions.copy()
    rows["imm"][np.flatnonzero((rows["opcode"] == Opcode.ALU) & (rows["alu_opcode"] == AluOp.MIN))[0]] -= 64
    wrong = replace(region, program=replace(region.program, instructions=rows))
    replace(compiled, regions=(wrong,)).save(tmp_path / "wrong.vta")
    assert main(["diff", f"{tmp_path}/wrong.vta@{place}", f"{artifact}@reference", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["first"]
    assert (found["layer"], found["made_by"]) == ("output conv", None)
