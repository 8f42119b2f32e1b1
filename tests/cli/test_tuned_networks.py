"""Whole networks: tuned a little, compiled with the log, run bit for bit as the interpreter."""

import json

import pytest

from vta.cli.main import main

SMALL = ["--input-shape", "data=1,3,64,64"]


def run_json(arguments, capsys):
    assert main([*map(str, arguments), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        pytest.param("mobilenet1.0", SMALL, marks=pytest.mark.slow),
        pytest.param("resnet50_v2", SMALL, marks=pytest.mark.slow),
        ("resnet8", []),
    ],
    ids=lambda value: value or "own",
)
def test_tune_compile_and_check(model, shape, tmp_path, capsys):
    log, out = tmp_path / "net.log", tmp_path / "net.vta"
    network = [model, *shape, "--random-weights", "1", "--config", "sim"]
    figures = run_json(["tune", *network, "--tuner", "ga", "--trials", "4", "--records", log], capsys)
    for task in figures["tasks"]:
        assert task["roofline_cycles"] <= task["best_cycles"] <= task["default_cycles"]
        assert task["failed"] == {}
    assert main([*map(str, ["compile", *network, "-o", out, "--records", log])]) == 0
    assert "using the" not in capsys.readouterr().err, "every operator has a record"
    found = run_json(["run", out, "--device", "cycle", "--check", "--seed", "1"], capsys)
    assert found["cycles"] <= 1.05 * figures["estimated_cycles"] + 100_000, "operators that are not tuned, and fill and drain"


def test_the_region_of_resnet8_takes_less_than_100_000_cycles(tmp_path, capsys):
    out = tmp_path / "net.vta"
    for options in ([], ["--no-records"], ["--fastest"]):
        compiled = run_json(["compile", "resnet8", "-o", out, "--config", "sim", *options], capsys)
        assert compiled["regions"] == 1
        found = run_json(["run", out, "--device", "cycle", "--check", "--seed", "1"], capsys)
        assert found["cycles"] < 100_000


def test_counters_of_a_default_compile_show_the_products_of_the_network(tmp_path, capsys):
    out = tmp_path / "net.vta"
    region = ["--start", "nn.max_pool2d", "--stop", "nn.global_avg_pool2d"]
    compiled = run_json(["compile", "resnet18_v1", "-o", out, "--config", "sim", *region], capsys)
    assert compiled["macs"]["vta"] == 1_695_547_392
    found = run_json(["run", out, "--device", "cycle", "--timing-only", "--seed", "1"], capsys)
    assert found["macs"] == 1_695_547_392
    assert found["cycles"] <= 7_400_000
