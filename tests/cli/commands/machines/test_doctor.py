"""`vta doctor`."""

import json

from vta.cli import optional_parts as parts
from vta.cli.main import main


def test_every_extra_is_told_with_what_it_brings(capsys):
    assert main(["doctor", "--json"]) == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert result["core"] is True
    by_name = {part["name"]: part for part in result["parts"]}
    assert {"rtl", "rpc", "report", "g++"} <= set(by_name)
    assert by_name["g++"]["ready"] == (not by_name["g++"]["missing"])
    for part in result["parts"]:
        assert part["ready"] or part["install"] in printed.err
        assert part["purpose"], part["name"]


def test_an_installed_package_knows_its_extras_without_sources(monkeypatch):
    lines = ["numpy>=1.26", "xgboost-cpu>=2; extra == 'tune'", 'mkdocstrings[python]>=0.26; extra == "docs"']
    monkeypatch.setattr(parts, "_of_source_tree", list)
    monkeypatch.setattr(parts, "requires", lambda name: lines)
    found = {part.name: part for part in parts.optional_parts()}
    assert {"tune", "docs"} <= set(found)
    assert "mkdocstrings" in " ".join((*found["docs"].found, *found["docs"].missing))
    assert "sweep" not in found


def test_what_is_missing_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setattr(parts, "_version", lambda package: None)
    assert main(["doctor"]) == 0
    assert "missing: vl-convert-python" in capsys.readouterr().out
