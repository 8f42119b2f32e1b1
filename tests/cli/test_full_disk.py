"""Disks that are full, limits of files, folders that nobody may write to: the file, what was written, and no trace of it."""

import contextlib
import errno
import os
import pickle
import resource
import shutil
import subprocess
import sys

import pytest

from tests.records.test_log import record
from vta.errors import TuningError, WriteError
from vta.files.atomic_file import make_folder, whole_file, write_together, write_whole, writing
from vta.records.log import RecordLog, to_line

COMMAND = [sys.executable, "-m", "vta.cli.main"]
NEEDS_FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")


def vta(*arguments, limit=None, **streams):
    """Run the command, with files of at most `limit` bytes."""

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=not streams,
        text=True,
        check=False,
        preexec_fn=limited if limit else None,
        # Python would write compiled modules that are cut off by the limit, too.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        **streams,
    )


@contextlib.contextmanager
def file_limit(nbytes):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A compiled network and its samples."""
    folder = tmp_path_factory.mktemp("demo")
    assert vta("demo", "-o", folder).returncode == 0
    return folder / "digits.vta"


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("cannot mount a small file system here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_errors_of_the_system_name_the_file_that_was_wanted(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with file_limit(100), pytest.raises(WriteError) as caught:
        write_whole(tmp_path / "a.txt", "x" * 101, "the report")
    error = caught.value
    assert str(error) == (
        f"{tmp_path}/a.txt: the report cannot be written: File too large; files may have 100 bytes here (ulimit -f)"
    )
    assert (error.filename, error.errno, str(pickle.loads(pickle.dumps(error)))) == (f"{tmp_path}/a.txt", errno.EFBIG, str(error))
    assert str(WriteError("told by another process")) == "told by another process"
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_copy_that_does_not_fit_is_the_fault_of_its_target(tmp_path):
    (tmp_path / "source").write_bytes(bytes(1000))
    refused = pytest.raises(WriteError, match=r"target: the copy cannot be written: File too large")
    with file_limit(100), refused, whole_file(tmp_path / "target", "the copy") as beside:
        shutil.copyfile(tmp_path / "source", beside)
    assert os.listdir(tmp_path) == ["source"]


def test_a_full_disk_says_how_much_is_free(tiny_disk):
    with pytest.raises(WriteError, match=r"disk/a: the report cannot be written: No space left on device; \d+ bytes are free"):
        write_whole(tiny_disk / "a", b"x" * (1 << 17), "the report")
    assert os.listdir(tiny_disk) == []


def test_files_of_use_together_are_written_together_or_not_at_all(tmp_path):
    contents = {"small.pem": b"x", "large.pem": b"x" * 1000}
    refused = pytest.raises(WriteError, match=r"certs: the files in it cannot be written: File too large")
    with file_limit(100), refused as caught:
        write_together(tmp_path / "certs", contents)
    assert ".together" not in str(caught.value)
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="file: the folder cannot be written: there is a file of this name"):
        write_together(tmp_path / "file", contents)


def test_records_that_do_not_fit_leave_the_log_as_it_was(tiny_disk):
    log = RecordLog(tiny_disk / "tune.log")
    refused = pytest.raises(TuningError, match=r"tune\.log: cannot be written: No space left on device; \d+ bytes are free")
    with refused:
        for _ in range(1 << 12):
            log.append([record(), record()])
    lines = (tiny_disk / "tune.log").read_text().splitlines(keepends=True)
    assert set(lines) == {to_line(record())}


def test_what_is_missing_is_named_and_no_other_name(tmp_path):
    with pytest.raises(WriteError) as caught:
        write_whole(tmp_path / "none" / "a", "")
    assert str(caught.value) == f"{tmp_path}/none/a: the file cannot be written: No such file or directory"
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"file: the folder cannot be written: there is a file of this name"):
        make_folder(tmp_path / "file")
    with pytest.raises(WriteError, match=r"file/a: the folder cannot be written: Not a directory"):
        make_folder(tmp_path / "file" / "a")


def test_errors_of_other_files_pass(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "a"):
        (tmp_path / "other").read_text()
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "a") as beside:
        shutil.copyfile(tmp_path / "other", beside)
    with pytest.raises(BrokenPipeError), writing("a", "the report"):
        raise BrokenPipeError


@NEEDS_FULL
@pytest.mark.parametrize("command", ["config list", "config show sim", "config show sim --json", "--help", "--version"])
def test_a_full_standard_output(command):
    with open("/dev/full", "w") as full:
        done = vta(*command.split(), stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 or "--json" in command
    assert done.stderr.endswith("error: standard output: the result cannot be written: No space left on device\n")


@NEEDS_FULL
def test_a_full_standard_error_does_not_stop_the_work():
    with open("/dev/full", "w") as full:
        done = vta("config", "show", "sim", "--json", stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == 0
    assert '"target": "sim"' in done.stdout


def test_closed_streams_are_no_trouble():
    done = subprocess.run(f"'{sys.executable}' -m vta.cli.main config show sim >&- 2>&-", shell=True, check=False)
    assert done.returncode == 0


def test_a_reader_that_goes_away(network):
    command = f"'{sys.executable}' -m vta.cli.main disasm '{network}' | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("; region")
    assert done.stderr == ""


def test_results_of_a_run(network, tmp_path):
    for option, name, what in (("--outputs", "out.npz", "the outputs"), ("--timeline", "t.json", "the timeline")):
        device = "cycle" if option == "--timeline" else "sim"
        done = vta("run", network, "--device", device, option, tmp_path / name, limit=100)
        assert done.returncode == 1
        assert f"error: {tmp_path}/{name}: {what} cannot be written: File too large" in done.stderr
        assert os.listdir(tmp_path) == []


def test_a_demo_leaves_no_cut_files(network, tmp_path):
    whole = {entry.name: entry.stat().st_size for entry in network.parent.iterdir()}
    for limit in sorted({size - 1 for size in whole.values()}):
        done = vta("demo", "-o", tmp_path / str(limit), limit=limit)
        assert done.returncode == 1
        assert "cannot be written: File too large" in done.stderr
        assert str(tmp_path / str(limit)) in done.stderr
        for entry in (tmp_path / str(limit)).iterdir():
            assert entry.stat().st_size == whole[entry.name]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_nobody_may_write_to(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(WriteError, match=rf"{tmp_path}/a: the file cannot be written: Permission denied"):
        write_whole(tmp_path / "a", "")
