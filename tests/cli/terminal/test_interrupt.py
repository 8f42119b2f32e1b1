"""Ctrl-C, at any moment of a command."""

import os
import signal
import subprocess
import sys

import pytest

from vta.cli.terminal.interrupt import is_command

# Sends the signal to itself when a module is about to be imported, that is at any moment of the start.
DRIVER = """
import os, signal, sys, runpy

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
        return None

# Whoever runs in the background was started to ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupter())
sys.argv = ["-m", "boards", "list"]
runpy.run_module("vta.cli.main", run_name="__main__", alter_sys=False)
"""


@pytest.mark.parametrize(
    "module", ["vta.cli.main", "argparse", "vta.cli.options", "vta.cli.commands.hardware.boards", "vta.boards.files"]
)
def test_while_modules_are_imported(module):
    """First those of the command line, then those of the command."""
    script = DRIVER.format(module=module)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 130, done
    assert done.stderr == "vta: interrupted\n"


def test_a_daemon_that_is_interrupted_ends_well(tmp_path):
    pytest.importorskip("grpc")
    command = [sys.executable, "-m", "vta.cli.main", "rpc", "tracker", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("tracker on")
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate()
    assert (process.returncode, complaints) == (0, "")


def test_what_was_started_to_ignore_it_ignores_it():
    script = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.argv = ['vta']; import vta.cli; "
    script += "assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_programs_that_use_the_command_line_keep_their_own_handler():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler or not is_command(sys.argv)
    assert is_command(["-m"])
    assert is_command([os.path.join("somewhere", "bin", "vta")])
    assert is_command([os.path.join("somewhere", "vta", "__main__.py")])
    assert is_command([os.path.join("somewhere", "vta", "cli", "main.py")])
    assert not is_command([os.path.join("mine", "main.py")])
    assert not is_command(["program.py", "vta"])
    assert not is_command([])
