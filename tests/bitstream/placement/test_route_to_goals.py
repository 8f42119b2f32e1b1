"""The router gets goals, is stopped where it does not reach them, and the report has what is wanted. The router is a stand-in."""

import json
import sys

import pytest

from vta.bitstream.placement import route_to_goals
from vta.bitstream.placement.route_to_goals import goals_of

CLOCKS = {"clk": {"wanted_mhz": 50.0, "estimate_mhz": 70.0}, "slow": {"wanted_mhz": 25.0, "estimate_mhz": 300.0}}

_ROUTER = """
import json, sys
from pathlib import Path
calls, report, ends, *arguments = sys.argv[1:]
goals = [arguments[i + 1] for i, word in enumerate(arguments) if word == "--lpf"]
entry = {"goals": Path(goals[-1]).read_text(), "takes_up": "--tmg-ripup" in arguments}
done = json.loads(Path(calls).read_text()) if Path(calls).exists() else []
Path(calls).write_text(json.dumps([*done, entry]))
if len(done) < int(ends):
    number = 0
    while True:
        number += 1
        print(f"Info:     iter={number} wires=1 overused=0 overuse=0 tmgfail=3", flush=True)
if int(ends) < 0:
    print("ERROR: out of luck"); sys.exit(3)
print("Info:     iter=1 wires=1 overused=0")
fmax = {name: {"achieved": 77.0, "constraint": goal} for name, goal in (("clk", 78.4), ("slow", 50), ("other", 8))}
Path(report).write_text(json.dumps({"fmax": fmax}))
"""


def test_the_slowest_clock_gets_the_boldest_goal():
    first, second = goals_of(CLOCKS)
    assert first == pytest.approx({"clk": 78.4, "slow": 27.5})
    assert second == pytest.approx({"clk": 51.0, "slow": 25.5})


def test_a_goal_is_never_below_what_is_wanted():
    first, _ = goals_of({"clk": {"wanted_mhz": 125.0, "estimate_mhz": 90.0}})
    assert first["clk"] >= 125.0


def test_where_what_is_wanted_is_out_of_reach_the_second_goal_is_what_is_estimated():
    first, second = goals_of({"clk": {"wanted_mhz": 80.0, "estimate_mhz": 67.5}, "slow": CLOCKS["slow"]})
    assert first == pytest.approx({"clk": 81.6, "slow": 27.5})
    assert second == pytest.approx({"clk": 75.6, "slow": 25.5})


def test_no_goal_is_tried_twice():
    (goals,) = goals_of({"clk": {"wanted_mhz": 112.0, "estimate_mhz": 102.0}})
    assert goals == pytest.approx({"clk": 114.24})


@pytest.fixture
def routed(tmp_path):
    def run(ends):
        known, script, calls = tmp_path / "clocks.json", tmp_path / "router.py", tmp_path / "calls.json"
        known.write_text(json.dumps(CLOCKS))
        script.write_text(_ROUTER)
        report = tmp_path / "report.json"
        command = [sys.executable, str(script), str(calls), str(report), str(ends), "--lpf", "board.lpf"]
        status = route_to_goals.main([str(known), str(tmp_path / "goals.lpf"), str(report), *command])
        assert not (tmp_path / "goals.lpf").exists()
        return status, json.loads(calls.read_text()), json.loads(report.read_text()) if report.exists() else None

    return run


@pytest.mark.parametrize(("ends", "takes_up"), [(0, [True]), (1, [True, True]), (2, [True, True, False])])
def test_goals_that_are_not_reached_are_given_up(routed, ends, takes_up, capsys):
    status, calls, report = routed(ends)
    assert status == 0
    assert [call["takes_up"] for call in calls] == takes_up
    assert 'FREQUENCY NET "clk" 78.400 MHZ;' in calls[0]["goals"]
    assert 'FREQUENCY NET "clk" 51.000 MHZ;' in calls[-1]["goals"] or ends == 0
    assert {name: clock["constraint"] for name, clock in report["fmax"].items()} == {"clk": 50.0, "slow": 25.0, "other": 8}
    assert capsys.readouterr().out.count("the goals were not reached in 120 rounds") == ends


def test_a_router_that_fails_is_not_called_again(routed, capsys):
    status, calls, report = routed(-1)
    assert (status, len(calls), report) == (3, 1, None)
    assert "ERROR: out of luck" in capsys.readouterr().out
