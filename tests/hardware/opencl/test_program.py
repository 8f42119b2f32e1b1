"""Finding a platform and building for it."""

import os
import subprocess
import sys

import pytest

from tests.engines import missing_for_opencl


@pytest.mark.parametrize("place", [{"HOME": "/dev/null"}, {"XDG_CACHE_HOME": "/proc"}], ids=["home", "cache"])
def test_a_platform_is_found_where_nothing_can_be_kept(place):
    environment = {name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", "POCL_CACHE_DIR")} | place
    script = (
        "from vta.hardware.opencl.program import kernel_source, prepare\n"
        "from vta.config.hardware import HardwareConfig\n"
        "print(prepare(kernel_source(), HardwareConfig.named('sim'))[0].platform)"
    )
    if missing_for_opencl():
        pytest.skip(missing_for_opencl())
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()
