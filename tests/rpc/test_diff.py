"""`vta diff` with a device of another machine: its outputs are compared, or all that it computes."""

import json
from dataclasses import replace

import numpy as np
import pytest

import vta
from benchmarks.planted_faults import ENGINE_FAULTS, ENGINES
from vta.cli.main import main
from vta.difference.remote_device import RemoteDevice
from vta.isa.instruction import AluOp, Opcode
from vta.rpc.client.connect import lease


@pytest.fixture
def wrong(compiled, tmp_path):
    """A file with an instruction that clips too low, and where it is."""
    (region,) = compiled.regions
    rows = region.program.instructions.copy()
    index = int(np.flatnonzero((rows["opcode"] == Opcode.ALU) & (rows["alu_opcode"] == AluOp.MIN))[0])
    rows["imm"][index] -= 64
    changed = replace(region, program=replace(region.program, instructions=rows))
    replace(compiled, regions=(changed,)).save(tmp_path / "wrong.vta")
    return tmp_path / "wrong.vta", index


def test_a_device_of_a_tracker_and_the_reference(serve, tracker, artifact, wrong, capsys):
    serve()
    place = f"{tracker.address}/sim"
    assert main(["diff", f"{artifact}@{place}", f"{artifact}@reference", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["compared"] == 1
    assert main(["diff", f"{wrong[0]}@{place}", f"{artifact}@reference", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["first"]
    assert (found["layer"], found["made_by"]) == ("output conv", None)
    assert found["why_not"].startswith(f"{wrong[0]}@{place} tells its outputs alone: ")
    assert "runs no code of its clients" in found["why_not"]


def test_a_server_that_runs_code_tells_the_instruction(serve, tracker, artifact, wrong, capsys):
    serve(allow_host_code=True)
    place = f"{tracker.address}/sim"
    assert main(["diff", f"{artifact}@{place}", f"{artifact}@sim", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["compared"] > 1, "every layer"
    assert main(["diff", f"{wrong[0]}@{place}", f"{artifact}@reference", "--json"]) == 1
    made_by = json.loads(capsys.readouterr().out)["first"]["made_by"]
    assert (made_by["kind"], made_by["index"]) == ("instruction", wrong[1])


def test_the_instruction_that_the_device_does_otherwise(serve, tracker, compiled):
    serve(allow_host_code=True)
    rows = compiled.regions[0].program.instructions
    chosen, change = ENGINE_FAULTS["clips too high"]
    device = ENGINES["sim"](compiled.hw)
    device.change, device.index, device.opcodes = change, int(np.flatnonzero(chosen(rows))[0]), rows["opcode"]
    with lease(str(tracker.address), "sim") as session:
        found = vta.diff((compiled, device), (compiled, RemoteDevice(session)))
    assert found.first.made_by.index == device.index
