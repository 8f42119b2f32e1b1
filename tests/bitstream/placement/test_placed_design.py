"""What a placed netlist is read as, and what is written of it."""

import json

import pytest

from tests.bitstream.placement.placed import Placed, function_of, random_design, wrong_places
from vta.bitstream.placement.placed_design import Design


@pytest.fixture
def made():
    result = Placed()
    result.table("driver", "X9/Y20/SLICEA.K1", "d", "x", "y")
    result.register("copied", "X9/Y20/SLICEA.FF1", "q", DI="d")
    for number in range(3):
        result.table(f"reader_{number}", f"X2{number}/Y20/SLICEA.K0", f"z{number}", "q")
    return result


def test_what_is_read_is_written_again():
    module = random_design(4).module
    before = json.dumps(module, sort_keys=True)
    Design(module).write()
    assert json.dumps(module, sort_keys=True) == before


def test_a_copy_reads_what_the_register_reads(made):
    module = made.module
    design = Design(module)
    function = function_of(module)
    group, readers = (design.names.index("copied"),), {design.names.index("reader_1"), design.names.index("reader_2")}
    (copied,) = design.copy(group, readers, (30, 40, 3))
    design.write()
    assert function_of(module) == function
    assert not wrong_places(module)
    made_cell = module["cells"][design.names[copied]]
    assert made_cell["attributes"]["NEXTPNR_BEL"] == "X30/Y40/SLICEB.FF1"
    assert made_cell["parameters"]["SD"].strip() == "0"
    assert made_cell["connections"]["M"] == module["cells"]["driver"]["connections"]["F"]
    assert "DI" not in made_cell["connections"]
    nets = {module["cells"][f"reader_{number}"]["connections"]["A"][0] for number in range(3)}
    assert nets == {made.bits["q"], made_cell["connections"]["Q"][0]}
    assert any(net["bits"] == made_cell["connections"]["Q"] for net in module["netnames"].values())


def test_a_choice_is_copied_with_both_its_tables():
    made = Placed()
    made.table("other", "X9/Y20/SLICEA.K1", "o", "x")
    made.table("choice", "X9/Y20/SLICEA.K0", "n", "y", F1="o", M="z", OFX="c")
    for number in range(2):
        made.table(f"reader_{number}", f"X2{number}/Y20/SLICEA.K0", f"z{number}", "c")
    module = made.module
    function = function_of(module)
    design = Design(module)
    design.copy((design.names.index("choice"), design.names.index("other")), {design.names.index("reader_1")}, (30, 40, 4))
    design.write()
    copies = [name for name in module["cells"] if "$copy$" in name]
    assert [module["cells"][name]["attributes"]["NEXTPNR_BEL"] for name in copies] == ["X30/Y40/SLICEC.K1", "X30/Y40/SLICEC.K0"]
    assert not wrong_places(module)
    function["choice"].pop("F", None)
    assert function_of(module) == function


def test_what_was_done_is_undone(made):
    module = made.module
    before = json.dumps(module, sort_keys=True)
    design = Design(module)
    state = design.state()
    design.copy((design.names.index("copied"),), {design.names.index("reader_1")}, (30, 40, 3))
    design.x[0] = 77
    design.put_back(state)
    design.write()
    assert json.dumps(module, sort_keys=True) == before
