"""Whole networks on a GPU, without VTA: compiled and run by the commands, here and on the device of a server."""

import json

import pytest

from tests.engines import missing_for_opencl
from vta.cli.main import main
from vta.demo import model_path

pytestmark = pytest.mark.skipif(missing_for_opencl() is not None, reason=str(missing_for_opencl()))
MOBILENET = ("mobilenet0.25", "--random-weights", "0", "--input-shape", "data=1,3,32,32")


@pytest.mark.parametrize("network", [MOBILENET, (str(model_path()),)], ids=["mobilenet0.25", "demo"])
def test_a_network_gives_what_the_reference_gives_here_and_on_a_server(network, serve, tracker, tmp_path, capsys):
    out = str(tmp_path / "net.vta")
    assert main(["compile", *network, "-o", out, "--target", "opencl", "--json"]) == 0
    compiled = json.loads(capsys.readouterr().out)
    assert compiled["gpu"]["without_kernel"] == []
    serve()
    for where in ((), ("--remote", str(tracker.address), "--key", "sim", "--limit", "60")):
        assert main(["run", out, *where, "--check", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["bit_exact"]
