"""What is kept between processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vta.files import cache
from vta.files.cache import cache_directory, remembered


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path / "kept"))
    return tmp_path / "kept" / "kind"


class Maker:
    """Counts how often it is asked."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return {"a": np.arange(5), "flag": np.asarray("text"), "none": np.zeros((0, 3), np.int8), "no text": np.asarray("")}


def test_arrays_are_made_once(directory):
    make = Maker()
    first, second = (remembered("kind", b"key", make) for _ in range(2))
    assert make.calls == 1
    assert list(first) == list(second)
    for name, array in first.items():
        assert (array.dtype, array.shape) == (second[name].dtype, second[name].shape)
        assert np.array_equal(array, second[name])
    remembered("kind", b"another key", make)
    assert make.calls == 2
    assert len(list(directory.iterdir())) == 2


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-3], lambda content: content[:40] + b"x" + content[41:], lambda _: b""]
)
def test_a_damaged_file_is_made_again(directory, damage, caplog):
    make = Maker()
    remembered("kind", b"key", make)
    (path,) = directory.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert np.array_equal(remembered("kind", b"key", make)["a"], np.arange(5))
    assert make.calls == 2
    assert "is damaged" in caplog.text
    remembered("kind", b"key", make)
    assert make.calls == 2


def test_where_nothing_can_be_written_nothing_is_kept(directory):
    directory.parent.write_text("a file, where a directory should be")
    make = Maker()
    for _ in range(2):
        assert np.array_equal(remembered("kind", b"key", make)["a"], np.arange(5))
    assert make.calls == 2


def test_a_file_of_another_key_is_not_taken(directory):
    remembered("kind", b"one", lambda: {"a": np.arange(3)})
    (path,) = directory.iterdir()
    remembered("kind", b"other", lambda: {"b": np.arange(4)})
    (other,) = set(directory.iterdir()) - {path}
    path.write_bytes(other.read_bytes())
    assert np.array_equal(remembered("kind", b"one", lambda: {"a": np.arange(3)})["a"], np.arange(3))


@given(content=st.binary(max_size=200), keep=st.integers(0, 400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_whatever_is_in_the_file_the_values_are_right(directory, content, keep):
    make = Maker()
    wanted = remembered("kind", b"key", make)
    (path,) = directory.iterdir()
    path.write_bytes(path.read_bytes()[:keep] + content)
    found = remembered("kind", b"key", make)
    assert list(found) == list(wanted)
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_left_alone(directory, kind):
    remembered("kind", b"key", Maker())
    (path,) = directory.iterdir()
    path.unlink()
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    make = Maker()
    for _ in range(2):
        assert np.array_equal(remembered("kind", b"key", make)["a"], np.arange(5))
    assert make.calls == 2


def test_without_a_home_nothing_is_kept(monkeypatch):
    monkeypatch.delenv("VTA_CACHE_PATH", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert cache_directory() is None
    assert np.array_equal(remembered("kind", b"key", Maker())["a"], np.arange(5))


NOWHERE = {"HOME": "/dev/null"}


@pytest.mark.parametrize("place", [NOWHERE, {"VTA_CACHE_PATH": "/dev/null/cache"}, {"XDG_CACHE_HOME": "/proc"}], ids=str)
def test_the_whole_flow_without_a_place_to_keep_things(tmp_path, place):
    taken = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "VTA_CACHE_PATH", "MPLCONFIGDIR")
    environment = {name: value for name, value in os.environ.items() if name not in taken} | NOWHERE | place
    command = [sys.executable, "-m", "vta.cli.main", "demo", "-o", str(tmp_path / "demo"), "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bit_exact"]
    assert "error" not in done.stderr


def test_the_oldest_files_make_room(directory, monkeypatch):
    monkeypatch.setattr(cache, "_MOST_FILES", 3)
    monkeypatch.setattr(cache, "_COUNTED_EACH", 1)
    for number in range(6):
        remembered("kind", bytes([number]), Maker())
    assert len(list(directory.iterdir())) == 3


def test_the_directory_is_the_users_unless_named(monkeypatch):
    monkeypatch.delenv("VTA_CACHE_PATH", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert str(cache_directory()) == "/somewhere/vta"


def test_builds_of_a_library_have_stamps_of_their_own(tmp_path):
    stamps = set()
    for content in (b"one", b"other"):
        library = tmp_path / "core.so"
        library.write_bytes(content)
        stamps.add(cache.file_stamp.__wrapped__(library))
    assert len(stamps) == 2
