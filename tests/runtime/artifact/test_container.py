"""The container file: round trip, determinism, and refusal of whatever is damaged."""

import zipfile

import pytest

from vta.errors import ArtifactError
from vta.runtime.artifact.container import read_container, write_container

MEMBERS = {"one": b"first", "dir/two": bytes(range(256)), "empty": b""}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.vta"


def rezip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def test_round_trip(path):
    write_container(path, MEMBERS)
    assert read_container(path) == MEMBERS


def test_same_members_give_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_container(tmp_path / name, MEMBERS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_writing_replaces_the_file_and_leaves_nothing_behind(path):
    path.write_bytes(b"old")
    write_container(path, MEMBERS)
    assert read_container(path) == MEMBERS
    assert [entry.name for entry in path.parent.iterdir()] == ["file.vta"]


def test_a_failed_write_keeps_the_old_file(path):
    path.write_bytes(b"old")
    with pytest.raises(TypeError):
        write_container(path, {"bad": 3})
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.vta"]


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(ArtifactError, match=r"none/file.vta: the compiled network cannot be written: No such file"):
        write_container(tmp_path / "none" / "file.vta", MEMBERS)
    with pytest.raises(ArtifactError, match=r"none.vta: cannot be read: No such file"):
        read_container(tmp_path / "none.vta")


@pytest.mark.parametrize("data", [b"", b"PK", b"garbage" * 100])
def test_what_is_no_container(path, data):
    path.write_bytes(data)
    with pytest.raises(ArtifactError, match=r"file.vta: not a .vta file, or damaged"):
        read_container(path)


def test_changed_missing_and_added_members_are_named(path):
    write_container(path, MEMBERS)
    good = contents(path)
    rezip(path, [(name, b"other" if name == "one" else data) for name, data in good])
    with pytest.raises(ArtifactError, match=r"member 'one' is damaged: its checksum does not match"):
        read_container(path)
    rezip(path, [entry for entry in good if entry[0] != "dir/two"])
    with pytest.raises(ArtifactError, match=r"member 'dir/two' is missing"):
        read_container(path)
    rezip(path, [*good, ("three", b"x")])
    with pytest.raises(ArtifactError, match=r"member 'three' has no checksum"):
        read_container(path)
    rezip(path, [entry for entry in good if entry[0] != "sha256"])
    with pytest.raises(ArtifactError, match=r"list of checksums is missing"):
        read_container(path)


def test_members_twice_or_compressed_are_refused(path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        rezip(path, [("one", b"1"), ("one", b"1")])
    with pytest.raises(ArtifactError, match=r"member 'one' occurs twice"):
        read_container(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one", b"1" * 100)
    with pytest.raises(ArtifactError, match=r"member 'one' is compressed"):
        read_container(path)
