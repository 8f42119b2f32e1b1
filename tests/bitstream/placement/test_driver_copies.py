"""Which readers get a copy: not those that share an input with others that do not."""

from tests.bitstream.placement.placed import Placed, function_of, wrong_places
from vta.bitstream.placement.cell_mover import Mover
from vta.bitstream.placement.driver_copies import Copier
from vta.bitstream.placement.path_timing import Timing
from vta.bitstream.placement.placed_design import Design


def split(made):
    module = made.module
    function = function_of(module)
    design = Design(module)
    timing = Timing(design)
    critical, scale, _ = timing.analyse()
    count = Copier(design, Mover(design, 1)).split(timing, critical, scale)
    design.write()
    assert function_of(module) == function
    assert not wrong_places(module)
    return count, module["cells"]


def many_readers(made, *, rows=60):
    for y in range(4, 4 + rows):
        if y % 12 != 10:
            for x in (5, 60, 115):
                for half in range(2):
                    made.register(f"r{x}_{y}_{half}", f"X{x}/Y{y}/SLICEB.FF{half}", f"q{x}_{y}_{half}", enable="e", M="data")


def test_registers_of_a_slice_read_the_same_copy():
    made = Placed()
    made.register("from", "X60/Y90/SLICEA.FF0", "a", M="data")
    made.table("enable", "X60/Y89/SLICEA.K0", "e", "a")
    many_readers(made)
    count, cells = split(made)
    assert count > 3
    readers = {bits[0]: 0 for cell in cells.values() for port, bits in cell["connections"].items() if port == "CE"}
    assert len(readers) == count + 2


def test_multipliers_keep_the_net_that_they_share():
    made = Placed()
    made.register("from", "X60/Y90/SLICEA.FF0", "a", M="data")
    made.table("enable", "X60/Y89/SLICEA.K0", "e", "a")
    many_readers(made)
    for number in range(2):
        made.add(
            f"m{number}", "MULT18X18D", f"X{4 + number}/Y10/MULT18_{number}", {"REG_INPUTA_CLK": "CLK0"}, CE="e", CLK="clock"
        )
    _, cells = split(made)
    assert {cells[f"m{number}"]["connections"]["CE"][0] for number in range(2)} == {made.bits["e"]}


def test_few_readers_need_no_copy():
    made = Placed()
    made.register("from", "X60/Y90/SLICEA.FF0", "a", M="data")
    made.table("enable", "X60/Y89/SLICEA.K0", "e", "a")
    many_readers(made, rows=5)
    assert split(made)[0] == 0
