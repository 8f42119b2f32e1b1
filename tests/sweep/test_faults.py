"""A sweep on a disk that fills up, goes read-only or away: it ends with one line, and goes on from there afterwards."""

import errno
import os

import pytest

from tests.cli.commands.test_sweep import WORKLOAD
from tests.faults import faults
from vta.cli.main import main


@pytest.fixture
def description(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(f"config: {{LOG_BLOCK: [4, 5]}}\nworkloads: [{WORKLOAD}]\n")
    return path


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EMFILE], ids=errno.errorcode.get)
def test_a_directory_that_cannot_be_written(tmp_path, capsys, error, description):
    directory = tmp_path / "out"
    command = ["sweep", str(description), "-o", str(directory)]
    for first in range(100):
        with faults(error, first, below=str(directory)) as trouble:
            status = main([*command, *(["--resume"] if (directory / "spec.json").exists() else [])])
        complaint = capsys.readouterr().err
        if not trouble.failed:
            assert status == 0, complaint
            break
        if status == 0:
            assert all(call.startswith("os.remove") for call in trouble.seen), trouble.seen
            continue
        assert status == 1, trouble.seen
        said = [line for line in complaint.splitlines() if "error" in line]
        assert len(said) == 1
        assert "internal error" not in said[0], trouble.seen
        assert os.strerror(error) in said[0]
    assert first > 1, "there is something to disturb"
