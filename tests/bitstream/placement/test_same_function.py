"""What moved cells alone is accepted; every netlist that was broken on purpose is refused with the cell that differs."""

import json
import re
import sys
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bitstream.placement.placed import Placed, choice_of_four, random_design
from vta.bitstream.placement import same_function
from vta.bitstream.placement.critical_cells import move_critical_cells
from vta.bitstream.placement.placed_design import Design
from vta.bitstream.placement.same_function import differences, main
from vta.bitstream.stages import run_tool
from vta.errors import DeviceError


def readers_of_a_register():
    """A table and its register, which three tables read; and two of them, from now on, read a copy."""
    made = Placed()
    made.table("driver", "X9/Y20/SLICEA.K1", "d", "x", "y")
    made.register("copied", "X9/Y20/SLICEA.FF1", "q", DI="d")
    for number in range(3):
        made.table(f"reader_{number}", f"X2{number}/Y20/SLICEA.K0", f"z{number}", "q", "x")
    made.register("other", "X9/Y30/SLICEA.FF1", "o", M="z0")
    choice_of_four(made, "choice", "X40/Y40", "AB", "c", ["q", "o", "x"])
    before = made.module
    after = deepcopy(before)
    design = Design(after)
    readers = {design.names.index(f"reader_{number}") for number in (1, 2)}
    (copied,) = design.copy((design.names.index("copied"),), readers, (30, 40, 3))
    design.write()
    return before, after, after["cells"][design.names[copied]]


def written(folder, before, after):
    """The names of the files of both."""
    files = [folder / name for name in ("placed.json", "moved.json")]
    for file, module in zip(files, (before, after), strict=True):
        file.write_text(json.dumps({"modules": {"top": module}}))
    return [*map(str, files)]


def bit(module, cell, port):
    return module["cells"][cell]["connections"][port]


@settings(max_examples=5)
@given(seed=st.integers(0, 10**6))
def test_what_moves_cells_changes_nothing_else(seed):
    module = random_design(seed).module
    module["cells"]["$blocked$X2/Y2/SLICEC.K0"] = {"type": "TRELLIS_COMB", "connections": {"A": []}, "attributes": {}}
    before = deepcopy(module)
    move_critical_cells(module, rounds=2)
    assert module != before
    assert list(differences(before, module)) == []


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_an_input_of_any_cell_that_reads_another_net_is_found(seed, data):
    module = random_design(seed, paths=4).module
    before = deepcopy(module)
    move_critical_cells(module, rounds=1)
    cells = module["cells"]
    inputs = sorted(
        (name, port) for name, cell in cells.items() for port in cell["connections"] if cell["port_directions"][port] == "input"
    )
    name, port = data.draw(st.sampled_from(inputs))
    outputs = sorted(
        bits[0]
        for cell in cells.values()
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == "output"
    )
    (old,) = cells[name]["connections"][port]
    cells[name]["connections"][port] = [data.draw(st.sampled_from(outputs))]
    same = _root(cells, old) == _root(cells, cells[name]["connections"][port][0])
    found = [words for words in differences(before, module) if words.startswith(f"{name} reads ")]
    assert bool(found) != same


def _root(cells, bit):
    return next(
        ((name.split("$copy$")[0], port) for name, cell in cells.items() for port, bits in cell["connections"].items()
         if bits == [bit] and cell["port_directions"][port] == "output"),
        bit,
    )  # fmt: skip


def test_a_copy_is_as_good_as_its_cell():
    before, after, copied = readers_of_a_register()
    assert copied["connections"]["M"] == bit(after, "driver", "F")
    assert list(differences(before, after)) == []
    after["cells"]["reader_0"]["connections"]["A"] = copied["connections"]["Q"]
    assert list(differences(before, after)) == []


def breakages():
    def another_source(after, copied):
        copied["connections"]["M"] = bit(after, "other", "M")

    def another_output(after, copied):
        bit(after, "choice_0_1", "FXA")[:] = bit(after, "choice_1_0", "F")

    def lost_enable(after, copied):
        del copied["connections"]["CE"]

    def lost_input(after, copied):
        after["cells"]["reader_0"]["connections"]["B"] = []

    def lost_cell(after, copied):
        del after["cells"]["other"]

    def other_table(after, copied):
        after["cells"]["reader_2"]["parameters"]["INITVAL"] = "1"

    def other_mode(after, copied):
        copied["parameters"]["SD"] = "1 "

    def own_net(after, copied):
        copied["connections"]["Q"] = bit(after, "copied", "Q")

    def moved_output(after, copied):
        after["cells"]["other"]["connections"]["Q"] = [9999]

    def no_copy(after, copied):
        after["cells"]["fresh"] = copied

    def wrong_kind(after, copied):
        copied["type"] = "TRELLIS_COMB"

    def same_place(after, copied):
        copied["attributes"]["NEXTPNR_BEL"] = "X21/Y20/SLICEA.K0"

    def apart(after, copied):
        after["cells"]["copied"]["attributes"]["NEXTPNR_BEL"] = "X9/Y20/SLICEB.FF1"

    def ports(after, copied):
        after["ports"] = {"clock": {}}

    return {
        another_source: r"copied\$copy\$.* reads F of reader_0 at its input M; copied read F of driver",
        another_output: "choice_0_1 reads F of choice_1_0 at its input FXA; choice_0_1 read OFX of choice_1_0",
        lost_enable: r"copied\$copy\$.* reads nothing at its input CE; copied read net \d+",
        lost_input: r"reader_0 reads nothing at its input B; reader_0 read net \d+",
        lost_cell: "other is missing",
        other_table: "reader_2 has other parameters than reader_2 had",
        other_mode: r"copied\$copy\$.* has other parameters than copied had",
        own_net: r"copied\$copy\$.* drives the same net as copied",
        moved_output: "other drives other nets than before",
        no_copy: "fresh is new, and no copy",
        wrong_kind: r"copied\$copy\$.* is TRELLIS_COMB, and copied was TRELLIS_FF",
        same_place: r"copied\$copy\$.* and reader_1 are both at X21/Y20/SLICEA.K0",
        apart: "copied is at X9/Y20/SLICEB.FF1, and what its input DI is joined to at X9/Y20/SLICEA.K1",
        ports: "the ports of the design are others",
    }


@pytest.mark.parametrize(("break_it", "words"), breakages().items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_netlist_that_was_broken_on_purpose(break_it, words, tmp_path, capsys):
    before, after, copied = readers_of_a_register()
    break_it(after, copied)
    assert main(written(tmp_path, before, after)) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("ERROR: moved cells changed the design: ")
    assert re.search(words, line)


def test_a_build_ends_there_with_one_line(tmp_path):
    before, after, _ = readers_of_a_register()
    del after["cells"]["other"]
    written(tmp_path, before, after)
    command = [sys.executable, same_function.__file__, "placed.json", "moved.json"]
    with pytest.raises(DeviceError, match=r"^place and route failed: ERROR: moved cells changed the design: .*; its log is .*$"):
        run_tool(tmp_path, command, "place_route-1-2", "place and route")


def test_as_a_program(tmp_path, capsys):
    before, after, _ = readers_of_a_register()
    assert main(written(tmp_path, before, after)) == 0
    assert capsys.readouterr().out == "every cell reads what it read before its moves, or a copy of it\n"
