"""The timeline of a run on a module made by hand."""

import json
from itertools import pairwise

import numpy as np
import pytest

from tests.hand_made_modules import make_module
from vta.devices.cycle import CycleDevice
from vta.devices.device import TIMELINE_UNITS, RunOptions
from vta.report.timeline import timeline_events, write_timeline
from vta.runtime.module import Module


@pytest.fixture(scope="module")
def results():
    compiled = make_module()
    inputs = {node.name: np.zeros(node.shape, node.dtype) for node in compiled.graph.inputs}
    with Module(compiled, CycleDevice(compiled.hw), RunOptions(timeline=True)) as module:
        return module.run(inputs).results


def test_the_timeline_has_a_track_for_each_unit(results, tmp_path):
    path = tmp_path / "trace.json"
    count = write_timeline(path, [*results, *results])
    trace = json.loads(path.read_text())
    names = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert names == set(TIMELINE_UNITS)
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(spans) == count == 2 * len(results[0][1].timeline)
    assert {"sum tile 0 LOAD ACC_8BIT", "sum tile 0 ALU", "floor tile 0 STORE", "wait for token"} <= {e["name"] for e in spans}
    assert results[0][1].cycles < max(event["ts"] + event["dur"] for event in spans) <= 2 * results[0][1].cycles
    assert "to the cycle" in trace["otherData"]["timing"]


def test_spans_of_a_track_do_not_overlap(results):
    for track in range(4):
        spans = sorted(
            (event["ts"], event["ts"] + event["dur"])
            for event in timeline_events(results)
            if event["ph"] == "X" and event["tid"] == track
        )
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
