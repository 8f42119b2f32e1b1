"""Folders in which one process works at a time."""

from __future__ import annotations

import fcntl
import subprocess
import sys

import pytest

from vta.support.folder_lock import alone_in

HOLDER = "import sys; from pathlib import Path; from vta.support.folder_lock import alone_in\n"
HOLDER += "with alone_in(Path(sys.argv[1]), wait=False): print('in', flush=True); sys.stdin.read()"


def test_another_process_is_kept_out_until_the_first_ends(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "in\n"
        with pytest.raises(BlockingIOError), alone_in(tmp_path, wait=False):
            pytest.fail("it is not alone")
        holder.kill()
        holder.wait(30)
    with alone_in(tmp_path, wait=False), pytest.raises(BlockingIOError), alone_in(tmp_path, wait=False):
        pytest.fail("it is not alone")
    with alone_in(tmp_path, wait=True):
        pass


def test_without_locks_nobody_is_kept_out(tmp_path, monkeypatch):
    def refuse(handle, operation):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with alone_in(tmp_path, wait=False), alone_in(tmp_path, wait=False):
        assert tmp_path.is_dir()
