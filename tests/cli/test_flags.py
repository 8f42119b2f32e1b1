"""Errors of the library name parameters; the command line adds its options."""

import ast
import re
from pathlib import Path

import pytest

import vta
from vta.cli.flags import with_flags
from vta.errors import UsageError

COMMANDS = ("cli", "testing", "hardware", "bitstream")
"""What is a command line itself, or calls others."""


def test_options_are_added():
    error = UsageError("10.0.0.1 is not loopback", parameters=("certificates", "insecure"))
    assert str(error) == "10.0.0.1 is not loopback"
    assert with_flags(error) == "10.0.0.1 is not loopback (--certs DIR, --insecure)"
    assert with_flags(UsageError("no such name", parameters=("unknown",))) == "no such name"


COMPILERS = ("link.py", "nvrtc.py")
"""Modules that call programs or libraries with options of their own."""


def library_files():
    root = Path(vta.__file__).parent
    return [path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in COMMANDS]


@pytest.mark.parametrize("path", library_files(), ids=str)
def test_the_library_names_no_options(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = re.search(r"(?<![\w-])--[a-z][a-z-]+", node.value)
            assert found is None or "setup.py build_ext" in node.value or path.name in COMPILERS, (
                f"{path}:{node.lineno}: {found.group()}"
            )
