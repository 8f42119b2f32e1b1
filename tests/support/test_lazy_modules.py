import subprocess
import sys

CODE = """
import sys
sys.path.insert(0, {folder!r})
from vta.support.lazy_modules import postpone
postpone(["plain", "package.part"])
{statements}
"""


def printed(tmp_path, statements):
    (tmp_path / "plain.py").write_text("print('run'); number = 3\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("from . import part\nprint('package')\n")
    (tmp_path / "package" / "part.py").write_text("print('part'); number = 4\n")
    code = CODE.format(folder=str(tmp_path), statements=statements)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_a_module_runs_when_something_of_it_is_used(tmp_path):
    assert printed(tmp_path, "import plain; print('imported'); print(plain.number)") == ["imported", "run", "3"]


def test_what_takes_names_from_one_runs_it(tmp_path):
    assert printed(tmp_path, "import plain; from plain import number; print(number)") == ["run", "3"]


def test_a_module_of_a_package(tmp_path):
    assert printed(tmp_path, "import package; print(package.part.number)") == ["package", "part", "4"]


def test_others_run_as_ever(tmp_path):
    assert printed(tmp_path, "import package.part, html; print(html.escape('<'))") == ["package", "&lt;"]


def test_a_thread_waits_for_what_another_has_not_made_yet(tmp_path):
    (tmp_path / "long.py").write_text("import __main__; __main__.begun.set(); __main__.go.wait(30); number = 5\n")
    statements = """
from concurrent.futures import ThreadPoolExecutor
from threading import Event
begun, go = Event(), Event()
postpone(["long"])
import long
with ThreadPoolExecutor(2) as pool:
    first = pool.submit(lambda: long.number)
    begun.wait(30)
    second = pool.submit(lambda: long.number)
    go.set()
    print(first.result(), second.result())
"""
    assert printed(tmp_path, statements) == ["5", "5"]


def test_what_a_module_lacks_is_said_as_ever(tmp_path):
    statements = """
import plain
try:
    plain.nothing
except AttributeError as error:
    print(error)
"""
    assert printed(tmp_path, statements) == ["run", "module", "'plain'", "has", "no", "attribute", "'nothing'"]
