"""What `import vta` and `python -m vta` give."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import vta


def test_names():
    assert vta.__version__ == version("vta")
    assert {"compile", "__version__"} <= set(dir(vta))
    with pytest.raises(AttributeError, match="no attribute 'compiled'"):
        _ = vta.compiled


def test_the_package_is_the_command():
    done = subprocess.run([sys.executable, "-m", "vta", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"vta {vta.__version__}\n"
    wrong = subprocess.run([sys.executable, "-m", "vta", "nothing"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("vta: error: ")
    assert "see 'vta --help'" in wrong.stderr
