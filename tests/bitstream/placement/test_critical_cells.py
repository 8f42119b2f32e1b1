"""Cells of long paths come closer together: paths are shorter, the design is the same, and places are such as there are."""

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bitstream.placement.placed import Placed, choice_of_four, function_of, random_design, wrong_places
from vta.bitstream.placement import critical_cells
from vta.bitstream.placement.critical_cells import move_critical_cells
from vta.bitstream.placement.path_timing import Timing
from vta.bitstream.placement.placed_design import Design


@settings(max_examples=6)
@given(seed=st.integers(0, 10**6))
def test_the_design_stays_the_same_and_its_places_are_right(seed):
    module = random_design(seed).module
    assert not wrong_places(module)
    function = function_of(module)
    lengths = move_critical_cells(module, rounds=2)
    assert not wrong_places(module)
    assert function_of(module) == function
    before, after = lengths["clock"]
    assert after < before


def test_what_is_said_of_the_paths_is_what_the_netlist_has():
    module = random_design(3).module
    _, after = move_critical_cells(module, rounds=2)["clock"]
    (length,) = Timing(Design(module)).analyse()[2].values()
    assert length == pytest.approx(after)


def test_a_slow_grade_is_slower():
    fast, slow = (move_critical_cells(random_design(3).module, rounds=1, grade=grade)["clock"] for grade in ("5G-8", "6"))
    assert slow == pytest.approx(tuple(1.7 * length for length in fast))


def test_the_same_design_gets_the_same_places():
    one, other = random_design(5).module, random_design(5).module
    move_critical_cells(one, rounds=2)
    move_critical_cells(other, rounds=2)
    assert one == other


def test_empty_tables_are_gone():
    made = random_design(1)
    made.cells["$blocked$X2/Y2/SLICEC.K0"] = {
        "type": "TRELLIS_COMB",
        "attributes": {},
        "connections": {"A": []},
        "parameters": {},
    }
    module = made.module
    move_critical_cells(module, rounds=2)
    assert not [name for name in module["cells"] if name.startswith("$blocked$")]


def test_a_detour_goes_away():
    made = Placed()
    made.register("from", "X10/Y20/SLICEA.FF0", "a", M="data")
    made.table("table", "X100/Y80/SLICEA.K0", "b", "a")
    made.table("last", "X14/Y20/SLICEC.K1", "d", "b")
    made.register("to", "X14/Y20/SLICEC.FF1", "c", DI="d")
    before, after = move_critical_cells(made.module, rounds=2)["clock"]
    assert before > 15000
    assert after < 3000


def test_readers_of_many_get_copies_of_their_own():
    made = Placed()
    made.register("from", "X60/Y50/SLICEA.FF0", "a", M="data")
    made.table("enable", "X60/Y52/SLICEA.K0", "e", "a")
    for index in range(120):
        x, y = 4 + 116 * (index % 2), 4 + index // 2
        if y % 12 != 10:
            made.register(f"r{index}", f"X{x}/Y{y}/SLICEB.FF0", f"q{index}", enable="e", M="data")
    module = made.module
    function = function_of(module)
    move_critical_cells(module, rounds=2)
    assert function_of(module) == function
    assert len([name for name in module["cells"] if name.startswith("enable$copy$")]) >= 1
    assert not wrong_places(module)


def test_choices_of_four_tables_move_together():
    made = Placed()
    made.register("from", "X10/Y20/SLICEA.FF0", "a", M="data")
    choice_of_four(made, "choice", "X100/Y80", "CD", "b", ["a", "a", "a"])
    made.register("to", "X14/Y20/SLICEC.FF1", "c", M="b")
    module = made.module
    assert not wrong_places(module)
    before, after = move_critical_cells(module, rounds=2)["clock"]
    assert not wrong_places(module)
    assert (before > 12000, after < 3000) == (True, True)


def test_as_a_program(tmp_path, capsys):
    source, log, target, clocks = (tmp_path / name for name in ("a.json", "log", "b.json", "clocks.json"))
    source.write_text(json.dumps({"modules": {"top": random_design(2, paths=3).module}}))
    log.write_text(
        "Info: Max frequency for clock 'clock': 1.5 MHz (FAIL at 2.00 MHz)\n"
        "Info: Max frequency for clock    'clock': 55.83 MHz (PASS at 50.00 MHz)\n"
    )
    critical_cells.main([str(source), str(log), str(target), str(clocks), "5G-8"])
    (known,) = json.loads(clocks.read_text()).items()
    assert known[0] == "clock"
    assert known[1]["wanted_mhz"] == 50.0
    assert known[1]["estimate_mhz"] > 0
    assert json.loads(target.read_text())["modules"]["top"]["cells"]
    assert "longest path of clock, estimated:" in capsys.readouterr().out
    assert "numpy" in sys.modules
