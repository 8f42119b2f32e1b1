"""Files that are half written when their process is asked to end: gone, and what had their names stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from vta.files.atomic_file import unfinished, whole_file

WRITER = """
import os, signal, sys, time
from pathlib import Path
from vta.files.atomic_file import whole_file, write_together
{before}
with whole_file(Path(sys.argv[1]) / "net.vta") as beside:
    beside.write_text("half")
    assert len(os.listdir(sys.argv[1])) == 2
    {inside}
"""


def ended(tmp_path, before="", inside=""):
    """The exit status of a process that ends while it writes; nothing is left of that."""
    (tmp_path / "net.vta").write_text("old")
    script = WRITER.format(before=before, inside=inside)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60)
    assert os.listdir(tmp_path) == ["net.vta"], done.stderr
    assert (tmp_path / "net.vta").read_text() == "old"
    return done.returncode


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_process(number, tmp_path):
    # Under nohup a process begins with SIGHUP ignored.
    usual = f"signal.signal({int(number)}, signal.SIG_DFL)"
    assert ended(tmp_path, usual, f"os.kill(os.getpid(), {int(number)})") == -number


def test_ctrl_c_while_the_file_is_taken_away(tmp_path):
    before = """
unlink, calls = Path.unlink, []
def interrupted(path, **given):
    calls.append(path)
    if len(calls) == 1:
        raise KeyboardInterrupt
    unlink(path, **given)
Path.unlink = interrupted
"""
    assert ended(tmp_path, before, "raise KeyboardInterrupt") == -signal.SIGINT


def test_ctrl_c_where_the_command_ends_at_once(tmp_path):
    before = "import vta.cli.terminal.interrupt as interrupt; interrupt.stay_quiet()"
    assert ended(tmp_path, before, "os.kill(os.getpid(), signal.SIGINT)") == 130


def test_a_child_leaves_what_its_parent_writes(tmp_path):
    inside = """
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), signal.SIGTERM)
    assert os.waitpid(child, 0)[1] == signal.SIGTERM
    assert beside.exists()
    os.kill(os.getpid(), signal.SIGTERM)
"""
    assert ended(tmp_path, inside=inside) == -signal.SIGTERM


def test_handlers_of_others_stay(tmp_path):
    theirs, seen = signal.getsignal(signal.SIGTERM), []
    signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with whole_file(tmp_path / "a.txt") as beside:
            beside.write_text("whole")
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, theirs)
    assert seen == [signal.SIGTERM]
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_signals_are_as_they_were_afterwards(tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    with unfinished(tmp_path / "a"), unfinished(tmp_path / "b"):
        (tmp_path / "a").mkdir()
        (tmp_path / "a/inner").write_text("half")
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before
    assert not list(tmp_path.iterdir())


def test_other_threads_write_without_signals(tmp_path):
    def write():
        with whole_file(tmp_path / "a.txt") as beside:
            beside.write_text("whole")

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert os.listdir(tmp_path) == ["a.txt"]
