"""docs/architecture.md has every folder of the package, in the order of imports."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def folders():
    """Folders of the table, in its order, each with the number of its row."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = text[text.index("| folder |") :].split("\n\n")[0].splitlines()[2:]
    return {name: place for place, row in enumerate(rows) for name in re.findall(r"`vta/(\w+)(?:/|\.py)`", row.split("|")[1])}


def test_every_folder_has_a_row():
    there = {path.parent.name for path in (ROOT / "vta").glob("*/__init__.py")}
    assert there <= set(folders())


def test_the_order_is_that_of_the_imports():
    if sys.version_info < (3, 11):
        pytest.skip("tomllib comes with Python 3.11")
    import tomllib

    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][:1]
    rows = folders()
    places = [
        rows[name]
        for layer in reversed(contract["layers"])
        for name in re.findall(r"vta\.(\w+)", layer)
        if not name.startswith("__")
    ]
    assert places == sorted(places)
