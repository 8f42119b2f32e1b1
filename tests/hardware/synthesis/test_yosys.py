"""How Yosys ends: what it said, or what ended it."""

import sys

import pytest

from vta.errors import DeviceError
from vta.hardware.synthesis.yosys import run_yosys


def test_what_a_signal_ended_names_the_signal(tmp_path):
    command = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
    with pytest.raises(DeviceError, match="vta cannot be mapped: Yosys was ended by SIGKILL: the system had too little memory"):
        run_yosys(command, tmp_path, "stat", "vta cannot be mapped")


def test_what_fails_says_what_yosys_said(tmp_path):
    command = [sys.executable, "-c", "print('ERROR: no such module'); raise SystemExit(1)"]
    with pytest.raises(DeviceError, match=r"vta cannot be mapped:\nERROR: no such module"):
        run_yosys(command, tmp_path, "stat", "vta cannot be mapped")
