"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.demo_network", "tests.hand_made_modules", "tests.same_results"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As for a job in the background of a script. Some tests interrupt what they run.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A program of the compiler that breaks a rule is an error here, in other processes too.
os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), "error:fault of the compiler")))

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Directory of the shared models, programs and cases: VTA_SHARED, or ``shared`` beside the repository."""
    given = os.environ.get("VTA_SHARED")
    beside = Path(__file__).resolve().parents[2] / "shared"
    path = Path(given) if given else beside
    if not path.is_dir():
        pytest.skip(f"needs the shared models and programs: set VTA_SHARED, or put them at {beside}")
    return path
