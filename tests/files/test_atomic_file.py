"""Files that appear whole or not at all."""

import os

import pytest

from vta.files.atomic_file import whole_file, write_whole


@pytest.mark.parametrize("content", ["Zürich\n", b"\x00\xff", ""])
def test_the_content_is_there_and_nothing_beside_it(tmp_path, content):
    path = tmp_path / "a.txt"
    for _ in range(2):
        write_whole(path, content)
        assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
        assert os.listdir(tmp_path) == ["a.txt"]


def test_a_failure_leaves_the_old_content(tmp_path):
    path = tmp_path / "a.txt"
    write_whole(path, "old")

    def write_half():
        with whole_file(path) as beside:
            beside.write_text("half")
            assert beside.suffix == path.suffix
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_the_disk_has_a_file_before_it_takes_its_name(tmp_path, monkeypatch):
    target = tmp_path / "net.vta"
    seen = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.append((os.fstat(descriptor).st_size, target.exists())))
    write_whole(target, b"content")
    assert seen == [(7, False)]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_to(tmp_path):
    reading, writing = os.pipe()
    write_whole(f"/dev/fd/{writing}", "through")
    os.close(writing)
    assert os.read(reading, 100) == b"through"
    os.close(reading)


def test_new_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_text("")
    write_whole(tmp_path / "whole", "")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    for name in ("n" * 251 + ".npz", "\u00e4" * 125 + ".npz"):
        write_whole(tmp_path / name, "text")
        assert (tmp_path / name).read_text() == "text"


def test_texts_show_names_that_are_no_text_as_escapes(tmp_path):
    write_whole(tmp_path / "page.html", "caf\udce9 \u00e4")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "caf\\udce9 \u00e4"
