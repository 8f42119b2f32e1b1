"""How long paths are, from the places of their cells, and how critical each connection is."""

import pytest

from tests.bitstream.placement.placed import Placed
from vta.bitstream.placement.path_timing import GRADES, Timing, wire_delay
from vta.bitstream.placement.placed_design import Design


def analysed(made):
    design = Design(made.module)
    timing = Timing(design)
    critical, scale, longest = timing.analyse()
    named = {design.names[timing.cell[edge]]: (critical[edge], scale[edge]) for edge in range(len(critical))}
    return named, {design.net_name(clock): length for clock, length in longest.items()}


def test_a_path_is_as_long_as_its_cells_and_wires():
    made = Placed()
    made.register("from", "X10/Y20/SLICEA.FF0", "a", M="data")
    made.table("table", "X13/Y20/SLICEA.K0", "b", "a")
    made.register("to", "X40/Y30/SLICEB.FF1", "c", M="b")
    _, longest = analysed(made)
    assert longest == {"clock": pytest.approx(309 + wire_delay(3, 0) + 141 + wire_delay(27, 10))}


def test_memories_of_a_slow_grade_are_slower_than_its_tables():
    made = Placed()
    made.add("from", "DP16KD", "X10/Y20/EBR0", CLKA="clock", DOA0="a")
    made.register("to", "X13/Y20/SLICEB.FF1", "c", M="a")
    design = Design(made.module)
    for name, grade in GRADES.items():
        (longest,) = Timing(design, grade).analyse()[2].values()
        assert grade.slower * longest == pytest.approx(1419 * grade.memories + grade.slower * wire_delay(3, 0)), name


def test_a_wire_is_longer_the_further_it_goes():
    assert [wire_delay(*step) for step in ((0, 0), (5, 0), (6, 0), (0, 6), (6, 6))] == [324, 864, 918, 918, 1512]


def test_what_is_joined_to_a_table_takes_no_wire():
    made = Placed()
    made.register("from", "X10/Y20/SLICEA.FF0", "a", M="data")
    made.table("table", "X13/Y20/SLICEA.K0", "b", "a")
    made.register("to", "X13/Y20/SLICEA.FF0", "c", DI="b")
    _, longest = analysed(made)
    assert longest["clock"] == pytest.approx(309 + wire_delay(3, 0) + 141)


def test_connections_are_as_critical_as_their_longest_path():
    made = Placed()
    made.register("from", "X10/Y20/SLICEA.FF0", "a", M="data")
    made.table("near", "X11/Y20/SLICEA.K0", "b", "a")
    made.table("far", "X90/Y20/SLICEA.K0", "c", "a")
    made.register("one", "X11/Y21/SLICEB.FF1", "d", M="b")
    made.register("other", "X91/Y21/SLICEB.FF1", "e", M="c")
    critical, longest = analysed(made)
    assert critical["far"] == critical["other"] == (pytest.approx(1.0), longest["clock"])
    assert critical["near"][0] == pytest.approx((309 + 141 + 2 * wire_delay(1, 0)) / longest["clock"])


def test_a_carry_goes_on_without_wires():
    made = Placed()
    made.register("from", "X10/Y20/SLICEA.FF0", "a", M="data")
    made.add("low", "TRELLIS_COMB", "X10/Y21/SLICEA.K0", {"MODE": "CCU2"}, A="a", FCO="carry")
    made.add("high", "TRELLIS_COMB", "X10/Y21/SLICEA.K1", {"MODE": "CCU2"}, FCI="carry", F="sum")
    made.register("to", "X10/Y21/SLICEA.FF1", "c", DI="sum")
    _, longest = analysed(made)
    assert longest["clock"] == pytest.approx(309 + wire_delay(0, 1) + 278 + 257)


def test_loops_of_tables_do_not_go_on_for_ever():
    made = Placed()
    made.register("from", "X10/Y20/SLICEA.FF0", "a", M="data")
    made.table("one", "X11/Y20/SLICEA.K0", "b", "a", "c")
    made.table("other", "X12/Y20/SLICEA.K0", "c", "b")
    made.register("to", "X13/Y20/SLICEB.FF1", "d", M="c")
    assert analysed(made)[1].keys() == {"clock"}
