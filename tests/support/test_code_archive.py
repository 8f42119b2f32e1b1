"""Modules from an archive are those of their files, and an archive that does not fit is left alone."""

import os
import resource
import subprocess
import sys

import pytest

import vta.cli
from vta.support.code_archive import CodeArchive

RUN = """
import importlib.util
import sys
from vta.support.code_archive import CodeArchive
archive = CodeArchive({archive!r})
archive.install()
sys.path.insert(0, {folder!r})
import package.module, package.inner.module
held = type(package.module.__spec__.loader).__name__ != "SourceFileLoader"
print(package.module.value, package.inner.module.value, held, package.module.__file__, *package.inner.__path__)
for module in (package.module, package.inner):
    assert module.__cached__ == module.__spec__.cached == importlib.util.cache_from_source(module.__file__)
archive.save()
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in {
        "package/__init__.py": "",
        "package/module.py": "value = 1\n",
        "package/inner/__init__.py": "",
        "package/inner/module.py": "from package.module import value\nvalue += 1\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def environment():
    """One in which Python writes what it compiles."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(folder, archive=None):
    code = RUN.format(archive=str(archive or folder / "archive"), folder=str(folder))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert not done.stderr
    first, second, held, file, path = done.stdout.split()
    assert (file, path) == (str(folder / "package" / "module.py"), str(folder / "package" / "inner"))
    return int(first), int(second), held == "True"


def test_modules_come_from_the_archive_the_second_time(folder):
    assert run(folder) == (1, 2, False)
    assert run(folder) == (1, 2, True)
    before = (folder / "archive").stat()
    assert run(folder) == (1, 2, True)
    assert (folder / "archive").stat().st_ino == before.st_ino, "there was nothing to add"


def test_a_module_that_changed_is_read_again(folder):
    run(folder)
    (folder / "package" / "module.py").write_text("value = 10\n")
    assert run(folder) == (10, 11, False)
    assert run(folder) == (10, 11, True)


def test_another_folder_has_its_own_modules(folder, tmp_path_factory):
    run(folder)
    other = tmp_path_factory.mktemp("other")
    for name in ("package", "package/inner"):
        (other / name).mkdir()
        (other / name / "__init__.py").write_text("")
        (other / name / "module.py").write_text("value = 5\n")
    assert run(other, folder / "archive") == (5, 5, False)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content.replace(b"code-1", b"code-0"),
        lambda content: content + b"x",
        lambda content: content[:50] + bytes([content[50] ^ 1]) + content[51:],
        lambda content: b"",
        lambda content: content[:20],
    ],
)
def test_a_damaged_archive_is_left_alone_and_replaced(folder, damage):
    run(folder)
    path = folder / "archive"
    path.write_bytes(damage(path.read_bytes()))
    assert CodeArchive(str(path)).find_spec("package.module", [str(folder / "package")]) is None
    assert run(folder) == (1, 2, False)
    assert run(folder) == (1, 2, True)


def test_damaged_code_of_a_module_is_not_run_and_replaced(folder):
    run(folder)
    path = folder / "archive"
    whole = path.read_bytes()
    at = whole.rindex(b"value")
    damaged = whole[:at] + b"other" + whole[at + 5 :]
    path.write_bytes(damaged)
    assert run(folder)[:2] == (1, 2)
    assert path.read_bytes() != damaged
    assert b"other" not in path.read_bytes()[at - 100 :]


def test_where_nothing_can_be_written_there_is_none(folder):
    assert run(folder, folder / "none" / "archive") == (1, 2, False)
    assert not (folder / "none").exists()
    assert [path.name for path in folder.iterdir()] == ["package"]


def test_the_archive_of_the_command_holds_its_modules(tmp_path):
    code = (
        "import sys; sys.argv = ['vta', 'config', 'list']; from vta.support import code_archive;"
        f"code_archive.archive_path = lambda: {str(tmp_path / 'archive')!r};"
        "from vta.cli.script import script; script()"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment())
    assert CodeArchive(str(tmp_path / "archive")).find_spec("vta.cli.main", vta.cli.__path__) is not None


def test_compiled_files_that_a_full_disk_cut_off_are_gone(folder):
    """Python replaces the old file with what it could write, and fails to read that the next time."""

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    code = RUN.format(archive=str(folder / "archive"), folder=str(folder))
    subprocess.run([sys.executable, "-c", code], preexec_fn=limited, capture_output=True, check=True, env=environment())
    assert not (folder / "archive").exists()
    assert run(folder) == (1, 2, False)
