"""Registers go into multipliers where nothing else would miss them, and stay where something would."""

import json
from copy import deepcopy

import pytest

from vta.hardware.ecp5 import multiplier_registers
from vta.hardware.ecp5.multiplier_registers import move_registers

CLOCK, ENABLE, RESET = 2, 3, 4
FACTOR_A, FACTOR_B, PRODUCT, HELD = (range(start, start + 40) for start in (100, 200, 300, 400))
GIVEN_A, GIVEN_B = range(500, 540), range(600, 640)
BITS = 8


def register(given, kept, **changes):
    cell = {
        "type": "TRELLIS_FF",
        "parameters": {"CEMUX": "CE", "CLKMUX": "CLK", "LSRMUX": "LSR", "REGSET": "RESET", "SRMODE": "LSR_OVER_CE"},
        "connections": {"CLK": [CLOCK], "CE": [ENABLE], "LSR": [RESET], "DI": [given], "Q": [kept]},
        "port_directions": {"CLK": "input", "CE": "input", "LSR": "input", "DI": "input", "Q": "output"},
    }
    cell["parameters"] |= changes
    return cell


def multiplier():
    """Of two factors of 8 bits, with the sign in all bits above."""
    pins = {f"A{bit}": FACTOR_A[min(bit, BITS - 1)] for bit in range(18)} | {"SIGNEDA": "1", "SIGNEDB": "1"}
    pins |= {f"B{bit}": FACTOR_B[min(bit, BITS - 1)] for bit in range(18)} | {"SOURCEA": "0", "SOURCEB": "0"}
    outputs = {f"P{bit}": PRODUCT[bit] for bit in range(2 * BITS)}
    return {
        "type": "MULT18X18D",
        "parameters": {},
        "connections": {name: [bit] for name, bit in (pins | outputs).items()},
        "port_directions": dict.fromkeys(pins, "input") | dict.fromkeys(outputs, "output"),
    }


@pytest.fixture
def netlist():
    cells = {"multiplier": multiplier()}
    for bit in range(BITS):
        cells[f"a{bit}"] = register(GIVEN_A[bit], FACTOR_A[bit])
        cells[f"b{bit}"] = register(GIVEN_B[bit], FACTOR_B[bit])
    for bit in range(2 * BITS):
        cells[f"p{bit}"] = register(PRODUCT[bit], HELD[bit])
    ports = {"held": {"direction": "output", "bits": list(HELD[: 2 * BITS])}}
    return {"modules": {"top": {"ports": ports, "cells": cells}}}


def cells_of(netlist):
    return netlist["modules"]["top"]["cells"]


def test_all_registers_of_a_multiplier_move(netlist):
    assert move_registers(netlist, "top") == (2 * BITS, 2 * BITS)
    assert list(cells_of(netlist)) == ["multiplier"]
    moved = cells_of(netlist)["multiplier"]
    pins = moved["connections"]
    assert [pins[f"A{bit}"] for bit in (0, 7, 17)] == [[GIVEN_A[0]], [GIVEN_A[7]], [GIVEN_A[7]]]
    assert [pins[f"P{bit}"] for bit in range(2 * BITS)] == [[bit] for bit in HELD[: 2 * BITS]]
    assert (pins["CLK0"], pins["CE0"], pins["CE1"], pins["RST0"], pins["RST1"]) == ([CLOCK], [ENABLE], [ENABLE], [RESET], [RESET])
    for place, number in (("INPUTA", 0), ("INPUTB", 0), ("PIPELINE", 1)):
        found = [moved["parameters"][f"REG_{place}_{kind}"] for kind in ("CLK", "CE", "RST")]
        assert found == ["CLK0", f"CE{number}", f"RST{number}"]


def test_a_second_time_nothing_moves(netlist):
    move_registers(netlist, "top")
    before = deepcopy(netlist)
    assert move_registers(netlist, "top") == (0, 0)
    assert netlist == before


@pytest.mark.parametrize(
    "change",
    [{"CEMUX": "INV"}, {"CLKMUX": "INV"}, {"REGSET": "SET"}, {"SRMODE": "ASYNC"}, {"GSR": "ENABLED"}, {"LSRMUX": "INV"}],
)
def test_registers_that_no_multiplier_has_stay(netlist, change):
    cells_of(netlist)["p3"]["parameters"] |= change
    cells_of(netlist)["a3"]["parameters"] |= change
    before = deepcopy(netlist)
    assert move_registers(netlist, "top") == (0, 0)
    assert netlist == before


@pytest.mark.parametrize("port", ["CLK", "CE", "LSR"])
def test_registers_that_differ_in_what_controls_them_stay(netlist, port):
    cells_of(netlist)["p3"]["connections"][port] = [9]
    assert move_registers(netlist, "top") == (2 * BITS, 0)


def test_products_of_another_clock_stay(netlist):
    for bit in range(2 * BITS):
        cells_of(netlist)[f"p{bit}"]["connections"]["CLK"] = [9]
    assert move_registers(netlist, "top") == (2 * BITS, 0)
    assert cells_of(netlist)["multiplier"]["connections"]["CLK0"] == [CLOCK]


def test_a_product_that_something_else_reads_stays(netlist):
    netlist["modules"]["top"]["ports"]["early"] = {"direction": "output", "bits": [PRODUCT[2]]}
    assert move_registers(netlist, "top") == (2 * BITS, 0)


def test_a_factor_that_something_else_reads_stays(netlist):
    cells_of(netlist)["table"] = {
        "type": "LUT4",
        "parameters": {},
        "connections": {"A": [FACTOR_A[1]]},
        "port_directions": {"A": "input"},
    }
    assert move_registers(netlist, "top") == (0, 2 * BITS)


def test_factors_shared_with_a_multiplier_that_cannot_take_them_stay(netlist):
    other = multiplier()
    for port in list(other["connections"]):
        if port.startswith("P"):
            del other["connections"][port]
        elif port.startswith("B"):
            other["connections"][port] = [700]
    cells_of(netlist)["other"] = other
    assert move_registers(netlist, "top") == (0, 2 * BITS)


def test_registers_shared_by_multipliers_move_into_each(netlist):
    other = multiplier()
    for bit in range(2 * BITS):
        other["connections"][f"P{bit}"] = [800 + bit]
    cells_of(netlist)["other"] = other
    assert move_registers(netlist, "top") == (2 * BITS, 2 * BITS)
    assert other["connections"]["A0"] == [GIVEN_A[0]]
    assert "REG_PIPELINE_CLK" not in other["parameters"]


def test_signs_that_change_keep_registers_out(netlist):
    cells_of(netlist)["multiplier"]["connections"]["SIGNEDA"] = [9]
    assert move_registers(netlist, "top") == (0, 0)


def test_as_a_program(netlist, tmp_path, capsys):
    source, target = tmp_path / "mapped.json", tmp_path / "netlist.json"
    source.write_text(json.dumps(netlist))
    multiplier_registers.main([str(source), "top", str(target)])
    assert list(json.loads(target.read_text())["modules"]["top"]["cells"]) == ["multiplier"]
    assert capsys.readouterr().out == "registers moved into multipliers: 16 of factors, 16 of products\n"
