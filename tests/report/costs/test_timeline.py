"""The timeline of a run on a module made by hand."""

import json
from itertools import pairwise

import numpy as np
import pytest

from tests.hand_made_modules import make_module
from vta.devices.cycle import CycleDevice
from vta.devices.device import TIMELINE_UNITS, RunOptions
from vta.report.costs.timeline import timeline_events, write_timeline
from vta.runtime.module import Module


@pytest.fixture(scope="module")
def report():
    compiled = make_module()
    inputs = {node.name: np.zeros(node.shape, node.dtype) for node in compiled.graph.inputs}
    with Module(compiled, CycleDevice(compiled.hw), RunOptions(timeline=True)) as module:
        return module.run(inputs)


@pytest.fixture(scope="module")
def results(report):
    return report.results


def tracks_of(events, process):
    return {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name" and event["pid"] == process}


def test_the_timeline_has_a_track_for_each_unit(results, tmp_path):
    path = tmp_path / "trace.json"
    count = write_timeline(path, [*results, *results])
    trace = json.loads(path.read_text())
    assert set(TIMELINE_UNITS) == set(tracks_of(trace["traceEvents"], 0).values())
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["pid"] == 0]
    assert len(spans) == count == 2 * len(results[0][1].timeline)
    assert {"sum tile 0 LOAD ACC_8BIT", "sum tile 0 ALU", "floor tile 0 STORE", "wait for token"} <= {e["name"] for e in spans}
    assert results[0][1].cycles < max(event["ts"] + event["dur"] for event in spans) <= 2 * results[0][1].cycles
    assert "to the cycle" in trace["otherData"]["timing"]


def test_spans_of_a_track_do_not_overlap(results):
    for track in range(4):
        spans = sorted(
            (event["ts"], event["ts"] + event["dur"])
            for event in timeline_events(results)
            if event["ph"] == "X" and event["pid"] == 0 and event["tid"] == track
        )
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_host_regions_and_layers_have_tracks_on_the_same_axis(report):
    events = list(timeline_events(report.results, report.steps, 100.0))
    tracks = tracks_of(events, 1)
    assert {"host", "regions", "layers"} <= set(tracks.values())
    spans = {track: [] for track in tracks.values()}
    for event in events:
        if event["ph"] == "X" and event["pid"] == 1:
            spans[tracks[event["tid"]]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    ((_, result),) = report.results
    ((begin, end, name),) = spans["regions"]
    assert (end - begin, name) == (result.cycles, "region0")
    layers = [span for track, found in spans.items() if track.startswith("layers") for span in found]
    assert {span[2] for span in layers} == {"sum", "floor"}
    assert all(begin <= first and last <= end for first, last, _ in layers)
    assert [span[2] for span in spans["host"]] == [step.node.name for step in report.steps if step.node is not None]
    assert all(last <= begin or first >= end for first, last, _ in spans["host"])
    units = [event for event in events if event["ph"] == "X" and event["pid"] == 0]
    assert all(begin <= event["ts"] and event["ts"] + event["dur"] <= end for event in units)
    for found in spans.values():
        found.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(found))
