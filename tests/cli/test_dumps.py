"""`vta compile --dump-after` and `--list-passes`."""

import json

import pytest

from vta.cli.main import main
from vta.compiler.pipeline import PASSES
from vta.demo import model_path


def compiled(tmp_path, *more):
    return main(["compile", str(model_path()), "-o", str(tmp_path / "net.vta"), "--config", "sim", *map(str, more)])


def test_passes_are_listed_without_a_model(capsys):
    assert main(["compile", "--list-passes"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed] == [step.name for step in PASSES]


@pytest.mark.parametrize(
    "arguments", [["--list-passes", "--json"], ["--json", "--list-passes"], ["--list-passes", "resnet8", "--json"]]
)
def test_passes_are_listed_for_scripts(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["compile", *arguments]) == 0
    captured = capsys.readouterr()
    listed = json.loads(captured.out)["passes"]
    assert listed == [{"pass": step.name, "level": step.level, "summary": step.summary} for step in PASSES]
    assert PASSES[0].summary in captured.err
    assert not list(tmp_path.iterdir())


def test_without_the_list_a_model_is_needed(capsys):
    assert main(["compile", "--json"]) == 2
    assert "required: MODEL" in capsys.readouterr().err


def test_dumps_go_to_standard_output_in_the_order_of_the_passes(tmp_path, capsys):
    assert compiled(tmp_path, "--dump-after", "partition", "--dump-after", "canonicalize") == 0
    printed = capsys.readouterr().out
    assert printed.index("; after canonicalize") < printed.index("; after partition") < printed.index("Where each operator runs")
    assert "graph @vta_0(" in printed


def test_dumps_go_to_files(tmp_path, capsys):
    folder = tmp_path / "dumps"
    assert compiled(tmp_path, "--dump-after", "all", "--dump-dir", folder, "--json") == 0
    assert json.loads(capsys.readouterr().out)["regions"] == 1
    assert sorted(path.name for path in folder.iterdir()) == [f"{index:02}-{step.name}.txt" for index, step in enumerate(PASSES)]
    assert "target=vta" in (next(folder.glob("*-partition.txt"))).read_text()


def test_what_was_reached_is_out_where_compiling_fails(tmp_path, capsys):
    assert compiled(tmp_path, "--target", "vta", "--dump-after", "partition") == 1
    captured = capsys.readouterr()
    assert "graph @vta_0(" in captured.out
    assert "a host, such as llvm, is needed" in captured.err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--dump-after", "fold"], "there is no pass or level fold"),
        (["--dump-after", "isa", "--json"], "--dump-dir DIR writes to files"),
        (["--dump-dir", "here"], "--dump-after, which is missing"),
        (["--print-graph", "--dump-after", "isa"], "--print-graph ends before the passes"),
    ],
)
def test_what_does_not_go_together(more, message, tmp_path, capsys):
    assert compiled(tmp_path, *more) != 0
    assert message in capsys.readouterr().err
    assert not (tmp_path / "net.vta").exists()
