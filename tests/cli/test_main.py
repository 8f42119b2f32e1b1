import argparse
import os
import subprocess
import sys

import pytest

from vta.cli.main import build_parser, main
from vta.errors import CompileError, UsageError


def run_with(monkeypatch, error):
    """Make `vta config list` raise `error`."""

    def fail(options):
        raise error

    monkeypatch.setattr("vta.cli.config._list", fail)
    return main(["config", "list"])


def test_help_of_every_command_has_a_description_and_examples(capsys):
    commands = next(action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)).choices
    assert {"demo", "compile", "run", "eval", "disasm", "config"} <= set(commands)
    for name, parser in commands.items():
        assert main([name, "--help"]) == 0
        text = capsys.readouterr().out
        assert parser.description in text
        assert f"  vta {name} " in text, "an example"


def test_help_imports_nothing_heavy():
    code = "import sys; from vta.cli.main import main; main(['compile', '--help']); print(sorted(set(sys.modules) & HEAVY))"
    heavy = "{'numpy', 'onnx', 'rich', 'matplotlib', 'vta.support.native_library'}"
    done = subprocess.run([sys.executable, "-c", code.replace("HEAVY", heavy)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["config"], ["config", "check"], ["run"], ["eval", "m.onnx"], ["--nonsense"]]
)
def test_wrong_usage_exits_with_2_and_prints_only_on_standard_error(arguments, capsys):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "usage: vta" in printed.err


def test_usage_errors_exit_with_2(monkeypatch, capsys):
    assert run_with(monkeypatch, UsageError("these do not go together")) == 2
    assert capsys.readouterr().err == "vta config: error: these do not go together\n"


def test_other_errors_exit_with_1_in_one_line(monkeypatch, capsys):
    assert run_with(monkeypatch, CompileError("conv7: too wide")) == 1
    assert capsys.readouterr().err == "vta config: error: conv7: too wide\n"


def test_system_errors_name_the_file(monkeypatch, capsys):
    assert run_with(monkeypatch, PermissionError(13, "Permission denied", "out.vta")) == 1
    assert capsys.readouterr().err == "vta config: error: out.vta: Permission denied\n"


def test_bugs_are_called_internal_errors(monkeypatch, capsys):
    assert run_with(monkeypatch, ZeroDivisionError("oops")) == 1
    assert (
        capsys.readouterr().err
        == "vta config: internal error: ZeroDivisionError: oops (run again with --debug for the traceback)\n"
    )


@pytest.mark.parametrize("arguments", [["--debug", "config", "list"], ["config", "list", "--debug"]])
def test_debug_shows_the_traceback_wherever_it_stands(arguments, monkeypatch, capsys):
    def fail(options):
        raise CompileError("conv7")

    monkeypatch.setattr("vta.cli.config._list", fail)
    assert main(arguments) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_an_interrupt_exits_with_130_in_one_line(monkeypatch, capsys):
    assert run_with(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "vta: interrupted\n"


def test_a_reader_that_goes_away_is_no_traceback():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "vta.cli.main", "config", "list"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("vta ")
