"""Runs every command that a document shows, and compares what it prints with what the document says.

Commands are the lines that start with ``$ `` in fenced ``console`` blocks; those of one document run in one directory, in
order. Other lines are the expected output, where ``...`` stands for anything. A word after ``console`` says more:
``fails``: the last command exits with a status other than 0; ``ci``: too long for a test, run by `.ci/run`; ``rtl``,
``opencl``, ``report`` and ``search``: left out where the extra of that name is not installed.
``python`` blocks run as scripts, in their place among the commands.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.engines import missing_for_opencl, missing_for_rtl

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(console|python) *(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRESS = re.compile(r"[a-z][^:]* \.\.\.\n")
MISSING = {
    "rtl": missing_for_rtl,
    "opencl": missing_for_opencl,
    "search": lambda: find_spec("optuna") is None or find_spec("moocore") is None,
    "report": lambda: find_spec("vl_convert") is None,
}
SHELL = 'vta() { "$PYTHON" -m vta.cli.main "$@"; }\npython() { "$PYTHON" "$@"; }\n'


@dataclass(frozen=True)
class Step:
    command: str
    expected: str
    fails: bool


def blocks(text):
    """Language, further word and body of each block."""
    return [match.groups() for match in BLOCK.finditer(text)]


def steps_of(text):
    """The commands of a document's blocks, each with what it is to print."""
    steps = []
    for language, word, body in blocks(text):
        if word == "ci" or (word in MISSING and MISSING[word]()):
            continue
        if language == "python":
            steps.append(Step(f"python - <<'END'\n{body}END", "", fails=False))
            continue
        parts = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
        for position, part in enumerate(parts):
            command, _, expected = part.partition("\n")
            steps.append(Step(command, expected.strip(), word == "fails" and position == len(parts) - 1))
    return steps


def matches(expected, printed):
    pattern = ".*?".join(re.escape(part) for part in re.split(r"[ \n]*\.\.\.[ \n]*", expected))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def without_progress(text):
    """What a command complains of: how it told on a slow machine what it was doing is left out."""
    return "".join(line for line in text.splitlines(keepends=True) if not PROGRESS.fullmatch(line))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_of_a_document(document, tmp_path):
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    for step in steps_of(document.read_text(encoding="utf-8")):
        done = subprocess.run(
            ["bash", "-c", SHELL + step.command],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = without_progress(done.stderr) if step.fails else done.stdout
        assert (done.returncode != 0) == step.fails, f"{step.command}\n{done.stdout}{done.stderr}"
        if step.expected:
            assert matches(step.expected, printed), f"{step.command}\nexpected:\n{step.expected}\nprinted:\n{printed}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_left_to_ci_are_run_there(document):
    script = (ROOT / ".ci" / "run").read_text()
    for _, word, body in blocks(document.read_text(encoding="utf-8")):
        assert word in ("", "fails", "ci", *MISSING), f"{document.name}: unknown word {word!r} after a language"
        if word == "ci":
            for line in body.splitlines():
                assert re.search(rf"^{re.escape(line.removeprefix('$ '))}\b", script, re.MULTILINE), line


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_progress_is_no_complaint():
    complaint = "vta run: error: tracker 127.0.0.1:1 cannot be reached: nothing listens there\n"
    assert without_progress("waiting for a device ...\nrunning ...\n" + complaint) == complaint
    assert without_progress("vta run: error: it goes on ...\n") == "vta run: error: it goes on ...\n"


def test_expected_output_matches_with_gaps():
    assert matches("a ...\nz", "a 1\nb\nz")
    assert matches("...", "anything\nat all")
    assert matches("x: ...; y", "x: 1; y")
    assert not matches("a ...", "b a 1")
    assert not matches("x: ...; y", "x: 1; z")
