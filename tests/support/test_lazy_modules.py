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
