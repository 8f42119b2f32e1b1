"""Memories and multipliers get sites of their kind, near to what they are joined with."""

import json
import re
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.bitstream.placement import block_sites
from vta.bitstream.placement.block_sites import SITES, assign, place_blocks


@given(
    costs=st.integers(1, 4).flatmap(
        lambda rows: st.lists(st.lists(st.integers(0, 9), min_size=5, max_size=5), min_size=rows, max_size=rows)
    )
)
def test_assignments_cost_the_least(costs):
    chosen = assign(np.array(costs, float))
    assert len(set(chosen)) == len(costs)
    least = min(
        sum(row[column] for row, column in zip(costs, order, strict=False)) for order in permutations(range(5), len(costs))
    )
    assert sum(row[column] for row, column in zip(costs, chosen, strict=True)) == least


def cell(kind, place=None, **connections):
    attributes = {"BEL": place} if place else {}
    return {"type": kind, "attributes": attributes, "connections": connections}


def packed(corner, *, blocks=3):
    """Memories and a multiplier, each joined by tables with a pad in a corner."""
    cells = {"pad": cell("TRELLIS_IO", corner, O=[1])}
    bit = 2
    for number in range(blocks):
        kind = "MULT18X18D" if number == 1 else "DP16KD"
        data = list(range(bit, bit + 16))
        bit += 16
        cells[f"block_{number}"] = cell(kind, D=data)
        for index, wire in enumerate(data):
            cells[f"table_{number}_{index}"] = cell("TRELLIS_COMB", A=[1], F=[wire])
            cells[f"register_{number}_{index}"] = cell("TRELLIS_FF", Q=[1], DI=[wire])
    return {"cells": cells}


@pytest.mark.parametrize(("corner", "near"), [("X0/Y89/PIOA", (0, 89)), ("X126/Y5/PIOB", (126, 5))])
def test_blocks_go_where_their_wires_go(corner, near):
    sites = place_blocks(packed(corner))
    assert set(sites) == {"block_0", "block_1", "block_2"}
    assert len(set(sites.values())) == 3
    for name, site in sites.items():
        column, row, slot = re.fullmatch(r"X(\d+)/Y(\d+)/(\w+)", site).groups()
        kind = "MULT18X18D" if name == "block_1" else "DP16KD"
        assert (int(column), int(row), slot) in SITES[kind]
        assert abs(int(column) - near[0]) < 30
        assert abs(int(row) - near[1]) < 40


def test_the_same_netlist_gets_the_same_sites():
    assert place_blocks(packed("X0/Y89/PIOA"), 3) == place_blocks(packed("X0/Y89/PIOA"), 3)


def test_there_are_as_many_sites_as_an_ecp5_85_has():
    assert {kind: len(set(sites)) for kind, sites in SITES.items()} == {"DP16KD": 208, "MULT18X18D": 156}


def test_a_block_that_has_a_place_keeps_it():
    module = packed("X0/Y89/PIOA")
    module["cells"]["block_0"]["attributes"]["BEL"] = "X4/Y22/EBR0"
    assert set(place_blocks(module)) == {"block_1", "block_2"}


def test_more_blocks_than_sites_get_none():
    module = packed("X0/Y89/PIOA")
    module["cells"] |= {f"more_{number}": cell("DP16KD", D=[1]) for number in range(208)}
    assert place_blocks(module) == {}


def test_without_blocks_or_nets_there_is_nothing_to_do():
    assert place_blocks({"cells": {}}) == {}
    assert place_blocks({"cells": {"lone": cell("DP16KD", D=[5])}}) == {}


def test_as_a_program(tmp_path, capsys):
    module = packed("X0/Y89/PIOA")
    source, between, target = (tmp_path / name for name in ("a.json", "packed.json", "b.json"))
    source.write_text(json.dumps({"modules": {"board": module}}))
    between.write_text(json.dumps({"modules": {"top": module}}))
    block_sites.main([str(source), "board", str(between), str(target)])
    cells = json.loads(target.read_text())["modules"]["board"]["cells"]
    assert all("BEL" in cells[f"block_{number}"]["attributes"] for number in range(3))
    assert capsys.readouterr().out == "sites chosen for memories and multipliers: 3\n"
