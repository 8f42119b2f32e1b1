import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.tflite_models import small_net
from vta.cli.main import COMMANDS, main, module_of
from vta.errors import CompileError, UsageError

ROOT = Path(__file__).parents[2]
HEAVY = {
    "asyncio",
    "concurrent.futures",
    "grpc",
    "http.client",
    "hypothesis",
    "llvmlite",
    "matplotlib",
    "multiprocessing",
    "numpy._typing._char_codes",
    "numpy.ma",
    "onnx",
    "onnxruntime",
    "pytest",
    "rich",
    "scipy",
    "sqlite3",
    "ssl",
    "unittest",
    "xgboost",
    "yaml",
    "vta.codegen.tile_text",
    "vta.isa.assembly",
    "vta.records.pickled",
}
"""What compiling a network that came quantised has no use for."""
FOREIGN = tuple(f"vta.{part}." for part in ("api", "autotune", "demo", "hardware", "rpc", "sweep", "testing"))
MOST_MODULES = 270
"""Of the package, as a bound: each takes a third of a millisecond. One core needs a few less, as nothing is split there."""


def run_with(monkeypatch, error):
    """Make `vta config list` raise `error`."""

    def fail(options):
        raise error

    monkeypatch.setattr("vta.cli.commands.hardware.config._list", fail)
    return main(["config", "list"])


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_a_description_and_examples(name, capsys):
    description = import_module(module_of(name))
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"usage: vta {name}" in text
    assert getattr(description, "_DESCRIPTION", "") in text
    assert f"  vta {name} " in text, "an example"


def test_help_lists_every_command(capsys):
    assert main(["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for name, summary in COMMANDS.items():
        assert f" {name} {summary}" in text


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["compile", "--help"], ["comple"], ["compile", "--nonsense"], ["compile", "resnet18_v1", "--config", "nix"]],
    ids=" ".join,
)
def test_help_and_usage_errors_import_nothing_heavy(arguments):
    code = f"import sys; from vta.cli.main import main; main({arguments}); print(sorted(set(sys.modules) & HEAVY))"
    heavy = "{'numpy', 'onnx', 'rich', 'matplotlib', 'cffi', 'tempfile', 'vta.native'}"
    done = subprocess.run([sys.executable, "-c", code.replace("HEAVY", heavy)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_compiling_imports_what_it_uses(tmp_path):
    """An import at the top of a module is easily written, and costs every command."""
    (tmp_path / "net.tflite").write_bytes(small_net())
    code = "import sys; sys.argv[0] = 'vta'; from vta.cli.main import main; status = main(['compile', 'net.tflite']); "
    code += "print(*sorted(sys.modules)); sys.exit(status)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("OMP_NUM_THREADS", None)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    imported = set(done.stdout.splitlines()[-1].split())
    assert (tmp_path / "net.vta").exists(), "in this directory, for sim"
    assert not imported & HEAVY
    assert not {name for name in imported if name.startswith(FOREIGN)}
    assert len([name for name in imported if name.split(".")[0] == "vta"]) <= MOST_MODULES


def test_only_the_module_of_the_command_is_imported():
    code = "import sys; from vta.cli.main import main; main(['config', 'check']); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & {module_of(command) for command in COMMANDS} == {module_of("config")}


@pytest.mark.parametrize(
    ("arguments", "command", "complaint"),
    [
        ([], "vta", "the following arguments are required: COMMAND"),
        (["nonsense"], "vta", "invalid choice: 'nonsense' (choose from "),
        (["--nonsense"], "vta", "the following arguments are required: COMMAND"),
        (["config"], "vta config", "the following arguments are required: ACTION"),
        (["config", "check"], "vta config check", "the following arguments are required: FILE"),
        (["run"], "vta run", "the following arguments are required: OUT.vta"),
        (["eval", "resnet18_v1"], "vta eval", "the following arguments are required: --data, --config"),
        (["compile", "resnet18_v1", "--nonsense"], "vta compile", "unrecognized arguments: --nonsense"),
        (["compile", "resnet18_v1", "--config", "nix"], "vta compile", "argument --config: nix: no such config file"),
    ],
)
def test_wrong_usage_is_said_in_one_line_and_another_says_where_help_is(arguments, command, complaint, capsys):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    error, hint = printed.err.splitlines()
    assert error.startswith(f"{command}: error: ")
    assert complaint in error
    assert hint == f"see '{command} --help'"


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


def test_libraries_that_memory_has_no_room_for_are_named(monkeypatch, capsys):
    around = "Importing the C-extensions failed.\n\n  lib.so: failed to map segment from shared object\n"
    assert run_with(monkeypatch, ImportError(around)) == 1
    assert capsys.readouterr().err == "vta config: error: out of memory: lib.so: failed to map segment from shared object\n"


@pytest.mark.parametrize("arguments", [["--debug", "config", "list"], ["config", "list", "--debug"]])
def test_debug_shows_the_traceback_wherever_it_stands(arguments, monkeypatch, capsys):
    def fail(options):
        raise CompileError("conv7")

    monkeypatch.setattr("vta.cli.commands.hardware.config._list", fail)
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
