"""Opening what users name: regular files only, of bounded size."""

import os
import socket

import pytest

from vta.errors import ConfigError
from vta.files.user_file import open_regular, read_bytes, read_text, size_of


def test_a_file_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"\xc3\xa9")
    with open_regular(tmp_path / "a") as stream:
        assert (size_of(stream), stream.read()) == (2, b"\xc3\xa9")
    assert read_bytes(tmp_path / "a", ConfigError) == b"\xc3\xa9"
    assert read_text(tmp_path / "a", ConfigError) == "é"


def test_a_link_to_a_file_is_one(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").symlink_to("a")
    assert read_text(tmp_path / "b", ConfigError) == "x"


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match=r"pipe: cannot be read: it is a named pipe; a regular file is needed"):
        read_bytes(tmp_path / "pipe", ConfigError)


def test_devices_directories_and_sockets_are_named(tmp_path):
    for path, words in ((tmp_path, "a directory"), ("/dev/zero", "a device")):
        with pytest.raises(ConfigError, match=f"cannot be read: it is {words}"):
            read_bytes(path, ConfigError)
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(tmp_path)
        listening.bind("socket")
        with pytest.raises(ConfigError, match="cannot be read: it is a socket"):
            read_bytes("socket", ConfigError)


@pytest.mark.parametrize(
    ("name", "words"), [("none", "No such file"), ("a\0b", "no file can have this name"), ("a" * 300, "too long")]
)
def test_what_is_not_there(name, words, tmp_path):
    with pytest.raises(ConfigError, match=words):
        read_text(tmp_path / name, ConfigError)


def test_sizes_are_compared_first(tmp_path):
    with open(tmp_path / "large", "wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(ConfigError, match="it has 1099511627776 bytes; the limit is 67108864"):
        read_text(tmp_path / "large", ConfigError)


def test_text_is_utf_8(tmp_path):
    (tmp_path / "a").write_bytes(b"ab\xff")
    with pytest.raises(ConfigError, match=r"no UTF-8 text: .* at byte 2"):
        read_text(tmp_path / "a", ConfigError)
