"""Rates of a host: measured, kept in files, and what the compiler does by them."""

import json

import pytest

from tests.compiler.test_profit import X, layer
from tests.integer_graphs import BASELINE
from vta.cli.main import main
from vta.compiler import host_rates
from vta.compiler.compile import compile_graph
from vta.compiler.host_rates import SHIPPED_RATES, host_model
from vta.compiler.profit import HostModel
from vta.demo import model_path
from vta.errors import ConfigError
from vta.ir.graph import Graph


@pytest.fixture
def quickly(monkeypatch):
    monkeypatch.setattr(host_rates, "_SECONDS", 0.0)
    monkeypatch.setattr(host_rates, "_FEWEST", 1)


def test_what_is_measured_is_read_again(quickly, tmp_path, capsys):
    path = tmp_path / "rates.json"
    assert main(["host", "measure", "-o", str(path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == json.loads(path.read_text())
    found = host_model(path)
    assert found == HostModel(**{key: value for key, value in said.items() if key != "processor"})
    assert min(found.macs_per_cycle, found.values_per_cycle, found.bytes_per_cycle) > 0


def test_rates_decide_what_pays():
    graph = Graph((X,), (layer(X),))
    assert compile_graph(graph, BASELINE, least_gain=1.0).regions
    assert not compile_graph(graph, BASELINE, least_gain=1.0, host=SHIPPED_RATES["x86-64-vnni"]).regions


def test_the_command_takes_rates(tmp_path, capsys):
    given = [str(model_path()), "--config", "sim", "-o", str(tmp_path / "net.vta"), "--json", "--min-gain", "1"]
    given += ["--global-scale", "8"]
    assert main(["compile", *given, "--host-rates", "x86-64-vnni"]) == 0
    assert json.loads(capsys.readouterr().out)["regions"] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"macs": 3}', "unknown key 'macs'; allowed keys: processor, mhz, "),
        ('{"mhz": "fast"}', "mhz = 'fast'; allowed: numbers above 0"),
        ('{"mhz": -1}', "host model: mhz must be above 0, got -1"),
        ("[]", "object"),
    ],
)
def test_files_that_are_wrong(tmp_path, text, message):
    path = tmp_path / "rates.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as found:
        host_model(path)
    assert str(path) in str(found.value)


def test_a_name_that_is_none():
    with pytest.raises(ConfigError, match="fast: no such file, nor one of the shipped rates: board, x86-64-vnni"):
        host_model("fast")


def test_the_list(capsys):
    assert main(["host", "rates"]) == 0
    assert "x86-64-vnni" in capsys.readouterr().out
