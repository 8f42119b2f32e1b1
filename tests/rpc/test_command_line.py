"""`vta rpc`, and the commands that use remote devices."""

import json

import numpy as np
import pytest

from vta.cli.main import main
from vta.demo import load_digits, model_path


@pytest.fixture
def vta(capsys):
    """Runs a command; returns its exit status, and what it printed and complained."""

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return run


def test_the_queue(vta, serve, tracker, take, gate):
    server = serve("cycle")
    with take():
        status, out, _ = vta("rpc", "query", "--port", tracker.address.port, "--json")
        assert status == 0
        found = json.loads(out)
    assert found["keys"] == {"sim": {"total": 1, "free": 0, "pending": 0}}
    (listed,) = found["servers"]
    assert (listed["address"], listed["state"], listed["device"]) == (str(server.address), "busy", "cycle")
    gate.broken.touch()
    _, out, _ = vta("rpc", "query", "--port", tracker.address.port)
    assert [cell.strip() for cell in out.splitlines()[3].strip("│").split("│")][:2] == ["sim", "1"]


def test_the_device(vta, serve):
    server = serve("cycle")
    status, out, _ = vta("rpc", "describe", "--port", server.address.port, "--json")
    assert status == 0
    assert json.loads(out)["config"]["LOG_BLOCK"] == 4
    _, out, _ = vta("rpc", "describe", "--port", server.address.port)
    assert out.startswith("device cycle with 4.0 MiB of memory, free\n  TARGET: sim\n")


def test_a_remote_run(vta, serve, tracker, artifact, sample, tmp_path, compiled):
    from vta.ir.interpreter import evaluate

    serve("cycle")
    np.savez(tmp_path / "in.npz", **sample)
    where = ("--remote", tracker.address, "--key", "sim")
    files = ("--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz", "--timeline", tmp_path / "t.json")
    status, out, complaints = vta("run", artifact, *where, *files, "--json")
    assert status == 0, complaints
    assert json.loads(out)["cycles"] > 0
    with np.load(tmp_path / "out.npz") as outputs:
        np.testing.assert_array_equal(outputs["conv"], evaluate(compiled.graph, sample)[0])
    assert (tmp_path / "t.json").stat().st_size > 0
    status, out, _ = vta("run", artifact, *where, "--check", "--limit", "60")
    assert status == 0
    assert "bit-exact: 1 accelerator operator" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--key", "k"), "--key needs --remote"),
        (("--insecure",), "--insecure needs --remote"),
        (("--remote", "127.0.0.1:1", "--config", "sim"), "--config is the server's to say"),
        (("--remote", "127.0.0.1:1", "--timing-only"), "--timing-only is the server's to say"),
        (("--remote", "127.0.0.1:1", "--check", "--order", "3"), "leave --order out"),
        (("--remote", "here"), "'here' is not an address; write HOST:PORT"),
        (("--remote", "10.1.2.3:9190", "--key", "k"), "10.1.2.3 is not loopback: give certificates"),
    ],
)
def test_options_that_do_not_go_together(vta, artifact, arguments, message):
    status, _, complaints = vta("run", artifact, *arguments)
    assert status == 2
    assert message in complaints


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("server", "--key", "k"), "--tracker and --key go together"),
        (("server", "--tracker", "127.0.0.1:1"), "--tracker and --key go together"),
        (("tracker", "--silence", "1", "--heartbeat", "1"), "--silence 1 must be at least twice --heartbeat 1"),
    ],
)
def test_daemons_that_cannot_be(vta, arguments, message):
    status, _, complaints = vta("rpc", *arguments)
    assert status == 2
    assert message in complaints


def test_certificates(vta, tmp_path):
    pytest.importorskip("cryptography")
    status, out, _ = vta("rpc", "certs", tmp_path / "certs", "--host", "board.lan", "--days", "2")
    assert status == 0
    assert out.splitlines()[0] == str(tmp_path / "certs" / "ca.pem")
    status, _, complaints = vta("rpc", "certs", tmp_path / "certs")
    assert status == 2
    assert "exists; certificates are not overwritten" in complaints


def test_a_remote_evaluation_is_that_of_a_device_here(vta, serve, tracker, tmp_path):
    digits = load_digits()
    data = tmp_path / "digits.npz"
    np.savez(data, x=digits.x[:20], y=digits.y[:20])
    command = ("eval", model_path(), "--data", data, "--config", "sim", "--scale", "16", "--json")
    serve("cycle", "cyc")
    status, here, _ = vta(*command, "--device", "cycle")
    assert status == 0
    status, there, complaints = vta(*command, "--remote", tracker.address, "--key", "cyc")
    assert status == 0, complaints
    here, there = json.loads(here), json.loads(there)
    assert there["bit_exact"]
    assert here.pop("stages").keys() == there.pop("stages").keys() == {"seconds", "cpu_seconds"}
    assert {**there, "seconds": 0} == {**here, "seconds": 0}


def test_a_remote_evaluation_leaves_the_device_to_the_server(vta, tmp_path):
    data = tmp_path / "digits.npz"
    np.savez(data, x=load_digits().x[:1], y=load_digits().y[:1])
    command = ("eval", model_path(), "--data", data, "--config", "sim")
    wrong = {"--key needs --remote": ("--key", "k"), "is the server's": ("--remote", "127.0.0.1:1", "--bus-bits", "64")}
    for message, more in wrong.items():
        status, _, complaints = vta(*command, *more)
        assert status == 2
        assert message in complaints
