"""Tuning on a disk that fills up, goes read-only or away: it ends with one line, and the log is good for going on."""

import errno
import os

import pytest

from tests.faults import faults
from vta.cli.main import main
from vta.demo import model_path
from vta.records.log import read_log

COMMAND = ("tune", str(model_path()), "--config", "sim", "--tuner", "random", "--workload", "0", "--seed", "1")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EMFILE], ids=errno.errorcode.get)
def test_a_log_that_cannot_be_written(tmp_path, capsys, error):
    log = tmp_path / "net.log"
    for first in range(50):
        before = log.read_bytes() if log.exists() else b""
        with faults(error, first, below=str(tmp_path)) as trouble:
            status = main([*COMMAND, "--trials", str(first + 2), "--records", str(log)])
        complaint = capsys.readouterr().err
        if not trouble.failed:
            assert status == 0
            break
        assert status == 1, trouble.seen
        (said,) = [line for line in complaint.splitlines() if "error" in line]
        assert "internal error" not in said, trouble.seen
        assert os.strerror(error) in said
        # What was there is there, and nothing else lies about.
        assert (log.read_bytes() if log.exists() else b"").startswith(before)
        assert [path for path in tmp_path.iterdir() if path != log] == []
    assert first >= 1, "there is something to disturb"
    assert all(line.record.error == 0 for line in read_log(log))
