"""The first example runs, as it is."""

import runpy
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "first_steps.py"


def test_the_first_example(capsys):
    runpy.run_path(str(PROGRAM))
    said = capsys.readouterr().out
    assert "of 360 digits are read right" in said
    assert "bit-exact" in said
