"""Tables are blocked while there is place for them, where no carry chain needs to pass."""

import json
import re
from collections import Counter

import pytest

from vta.bitstream.placement import blocked_tables
from vta.bitstream.placement.blocked_tables import TABLES, block_tables


def netlist_of(tables):
    cell = {"type": "LUT4", "parameters": {}, "attributes": {}, "port_directions": {}, "connections": {}}
    chain = {**cell, "type": "CCU2C"}
    cells = {f"table_{number}": cell for number in range(tables % 2)} | {
        f"chain_{number}": chain for number in range(tables // 2)
    }
    return {"modules": {"top": {"ports": {}, "cells": cells}}}


def blocked_in(netlist):
    places = [cell["attributes"].get("BEL") for cell in netlist["modules"]["top"]["cells"].values()]
    found = [re.fullmatch(r"X(\d+)/Y(\d+)/SLICE([A-D])\.K([01])", place) for place in places if place]
    return [(int(place[1]), int(place[2]), place[3] + place[4]) for place in found]


def test_an_ecp5_85_has_83640_tables():
    assert TABLES == 83640


@pytest.mark.parametrize(("used", "rows"), [(0, 62), (28000, 62), (40000, 39), (50000, 23), (60000, 0)])
def test_fewer_are_blocked_the_more_are_used(used, rows):
    netlist = netlist_of(used)
    count = block_tables(netlist, "top")
    places = blocked_in(netlist)
    assert count == len(places) == len(set(places)) == rows * 123 * 4
    assert len({row for _, row, _ in places}) == rows
    assert count + used <= 0.78 * TABLES or not count


def test_half_a_tile_is_blocked_and_whole_rows_stay_free():
    netlist = netlist_of(100)
    block_tables(netlist, "top")
    places = blocked_in(netlist)
    assert set(Counter((column, row) for column, row, _ in places).values()) == {4}
    assert {name for _, _, name in places} == {"C0", "C1", "D0", "D1"}
    blocked = {row for _, row, _ in places}
    assert not blocked & {10, 22, 34, 46, 58, 70, 82}
    assert all({row, row + 1, row + 2, row + 3} - blocked for row in range(2, 90))


def test_what_is_blocked_is_an_empty_table():
    netlist = netlist_of(3)
    block_tables(netlist, "top")
    cell = next(cell for cell in netlist["modules"]["top"]["cells"].values() if "BEL" in cell["attributes"])
    assert (cell["type"], cell["parameters"]) == ("LUT4", {"INIT": "0000000000000000"})
    assert all(bits == ["x"] for bits in cell["connections"].values())


def test_as_a_program(tmp_path, capsys):
    source, target = tmp_path / "a.json", tmp_path / "b.json"
    source.write_text(json.dumps(netlist_of(60000)))
    blocked_tables.main([str(source), "top", str(target)])
    assert json.loads(target.read_text()) == netlist_of(60000)
    assert capsys.readouterr().out == "tables that are kept empty: 0 of 83640\n"
