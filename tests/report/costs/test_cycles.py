"""Where the cycles went, on a module made by hand."""

import json

import numpy as np
import pytest

from tests.hand_made_modules import make_module
from vta.devices.cycle import CycleDevice
from vta.devices.device import TIMELINE_UNITS, RunOptions, UnitCycles
from vta.devices.sim import SimDevice
from vta.report.costs.cycles import cycles_json, preset_text, unit_cycles, unit_table
from vta.runtime.module import Module
from vta.runtime.operator_cycles import operator_cycles


def results_of(device_type, **more):
    compiled = make_module()
    inputs = {node.name: np.zeros(node.shape, node.dtype) for node in compiled.graph.inputs}
    with Module(compiled, device_type(compiled.hw, **more), RunOptions(timeline=True)) as module:
        return module.run(inputs).results


@pytest.fixture(scope="module")
def results():
    return results_of(CycleDevice)


def test_operators_cover_the_units_work(results):
    ((region, result),) = results
    rows = operator_cycles(region, result)
    assert [(row.operator, row.region) for row in rows] == [("sum", "region0"), ("floor", "region0")]
    for unit in ("load", "compute", "store"):
        for kind in ("busy", "memory", "token"):
            assert sum(getattr(row.total, kind)[unit] for row in rows) == getattr(result.units[unit], kind)
    assert rows[0].total.first < rows[0].total.last < rows[1].total.last == result.cycles - 1
    assert [tile.busy for tile in rows[0].tiles] == [rows[0].total.busy]
    assert rows[0].total.tile == -1


def test_units_add_up_over_runs(results):
    once, twice = unit_cycles(results), unit_cycles([*results, *results])
    assert all(twice[name] == once[name] + once[name] for name in TIMELINE_UNITS)
    assert len(unit_table(results).rows) == 4


def test_json_says_what_the_numbers_are(results):
    values = json.loads(json.dumps(cycles_json(results)))
    ((_, result),) = results
    assert values["cycles"] == result.cycles
    assert (values["preset"], values["exact"]) == ("rtl", True)
    assert UnitCycles(**values["units"]["load"]) == result.units["load"]
    assert values["bus_utilisation"]["read"] == pytest.approx(result.read_beats / result.cycles)
    assert [row["operator"] for row in values["operators"]] == ["sum", "floor"]
    assert cycles_json(results_of(CycleDevice, preset="hls"))["exact"] is False


def test_a_device_without_cycles_has_nothing_to_report():
    values = cycles_json(results_of(SimDevice))
    assert values["cycles"] is values["preset"] is values["exact"] is values["bus_utilisation"] is None
    assert values["units"] == {}
    assert values["operators"] == []


@pytest.mark.parametrize(("preset", "words"), [("rtl", "to the cycle"), ("chisel", "approximation"), ("hls", "approximation")])
def test_presets_are_labeled(preset, words):
    assert words in preset_text(preset)
