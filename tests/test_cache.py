"""What is kept between processes."""

import numpy as np
import pytest

from vta import cache
from vta.cache import cache_directory, remembered


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
