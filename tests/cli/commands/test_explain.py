"""`vta explain`: its tables, its JSON, and what it refuses."""

import json

import pytest

from vta.cli.main import main
from vta.explanation.causes import Cause


@pytest.fixture(scope="module")
def artifact(demo_plain, tmp_path_factory):
    path = tmp_path_factory.mktemp("explain") / "digits.vta"
    demo_plain.save(path)
    return str(path)


def test_json_adds_up_to_what_a_run_counts(artifact, capsys):
    assert main(["explain", artifact, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main(["run", artifact, "--device", "cycle", "--timing-only", "--json"]) == 0
    ran = json.loads(capsys.readouterr().out)
    assert told["total"] == ran["cycles"] == told["bound"] + sum(told["lost"].values())
    assert list(told["lost"]) == [cause.value for cause in Cause]
    assert {"layer", "region", "kind", "total", "bound", "roofline", "lost"} == set(told["layers"][0])
    assert all(found["predicted_cycles"] < told["total"] and found["text"] for found in told["suggestions"])
    assert told["exact"]


def test_tables_name_causes_layers_and_options(artifact, capsys):
    assert main(["explain", artifact]) == 0
    shown = capsys.readouterr().out
    for words in ("bound", "requantization", "conv2", "no schedules go below", "give the accelerator a memory bus"):
        assert words in shown


def test_another_memory(artifact, capsys):
    totals = []
    for more in ([], ["--bus-bits", "256"], ["--preset", "hls"]):
        assert main(["explain", artifact, "--no-suggestions", "--json", *more]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["total"] == told["bound"] + sum(told["lost"].values())
        assert told["suggestions"] == []
        totals.append(told["total"])
    assert totals[1] < totals[0] < totals[2]
