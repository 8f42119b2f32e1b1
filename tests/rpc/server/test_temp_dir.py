import os
import tempfile

import pytest

from vta.rpc.server.temp_dir import TempDir, remove_abandoned


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_directory_goes_when_it_is_closed():
    temp_dir = TempDir()
    (temp_dir.path / "file").touch()
    temp_dir.close()
    temp_dir.close()
    assert not temp_dir.path.exists()


def test_only_abandoned_directories_are_removed(directory):
    needed, abandoned = TempDir(), TempDir()
    (abandoned.path / "file").touch()
    os.close(abandoned._lock)
    young = TempDir()
    os.close(young._lock)
    for temp_dir in (needed, abandoned):
        os.utime(temp_dir.path, (0, 0))
    (directory / "vta-session-link").symlink_to(directory / "elsewhere")
    (directory / "elsewhere").mkdir()
    remove_abandoned()
    assert needed.path.exists()
    assert young.path.exists()
    assert not abandoned.path.exists()
    assert (directory / "elsewhere").exists()
    needed.close()
