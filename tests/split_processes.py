"""Programs whose processes split: how tests run them, and what they find there."""

import os
import subprocess
import sys

_COMMON = """
import os
from vta.files.second_process import allow_second_process
os.sched_getaffinity = lambda pid: {0, 1}
first = os.getpid()

def no_child_is_left():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False
"""


def run_program(code):
    """Run a program on a machine of two cores, as it sees it; returns the words that it prints.

    It has `os`, `allow_second_process`, `first`, its first process, and `no_child_is_left`.
    """
    # With OMP_NUM_THREADS=1, as a machine of one's own may set it, nothing is split.
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, "-c", _COMMON + code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()
