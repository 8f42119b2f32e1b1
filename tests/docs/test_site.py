"""The documents as a site: no link leads nowhere, and the references have every command and name."""

import os
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

import vta
from vta.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Made in strict mode, where a warning is an error."""
    for needed in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(needed, reason="needs the extra docs: make site")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": ""}
    made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


def test_every_document_is_a_page(site):
    for path in (ROOT / "docs").glob("*.md"):
        assert (site / f"{path.stem}.html").exists(), path.name
    for name in ("index", "CONTRIBUTING", "commands", "api"):
        assert (site / f"{name}.html").exists(), name


def test_references_have_every_command_and_name(site):
    commands = unescape((site / "commands.html").read_text())
    for name in COMMANDS:
        assert f"usage: vta {name}" in commands
    names = (site / "api.html").read_text()
    for name in vta.__all__:
        assert f".{name}" in names or name == "__version__"


def test_pages_fetch_nothing(site):
    for page in site.glob("*.html"):
        text = page.read_text()
        assert "fonts.googleapis.com" not in text
        assert 'src="http' not in text
