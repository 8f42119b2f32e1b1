import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import vta.ir.ops
from vta.errors import GraphError
from vta.ir.declared import MODULES
from vta.ir.operator import lookup, operator_names

FOLDER = Path(vta.ir.ops.__file__).parent


def test_the_table_says_what_the_modules_declare():
    """What it lacks is found, too, but only after all modules are imported."""
    for path in FOLDER.rglob("*.py"):
        import_module(".".join(("vta.ir.ops", *path.relative_to(FOLDER).with_suffix("").parts)))
    found: dict[str, set[str]] = {}
    for name in operator_names():
        found.setdefault(lookup(name).reference.__module__, set()).add(name)
    assert {module: set(names) for module, names in MODULES.items()} == found


def test_an_operator_that_no_module_declares():
    with pytest.raises(GraphError, match="operator 'nonsense' is not declared"):
        lookup("nonsense")


def test_an_operator_of_ours_is_not_declared_again():
    code = "from vta.ir.operator import operator; operator('nn.lrn', 1, lambda attrs, types: types[0])(lambda attrs, x: x)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "operator nn.lrn is declared twice" in done.stderr
