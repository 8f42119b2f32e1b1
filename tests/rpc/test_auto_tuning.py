"""Searching schedules for the processor of another machine."""

import json
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from tests.autotune.auto.examples import convolutions
from tests.autotune.auto.test_measure import hanging, without_last
from vta.autotune.auto.cpu.remote import RemoteMeasure
from vta.autotune.auto.measure import Timing
from vta.cli.main import main
from vta.demo import model_path
from vta.host.llvm.target import host_target
from vta.records.log import read_log
from vta.records.measurement import ErrorKind

QUICK = Timing(number=1, min_repeat_ms=1)


@pytest.fixture(name="measurer")
def _measurer(tracker):
    with closing(RemoteMeasure(str(tracker.address), "sim", host_target(), QUICK, timeout=8.0)) as found:
        yield found


def made_of(task):
    return task.space.make(task.space.random(np.random.default_rng(0)))


def test_what_hangs_or_is_wrong_costs_one_trial(serve, measurer):
    serve(allow_host_code=True)
    task = convolutions()[0]
    assert measurer.limits().near_bytes > 0
    assert 0 < measurer.default(task).cost < 1
    good = made_of(task)
    results = measurer.measure(
        task, [replace(good, program=hanging(good.program)), replace(good, program=without_last(good.program)), good]
    )
    assert [result.error for result in results] == [ErrorKind.RUN_TIMEOUT, ErrorKind.WRONG_ANSWER, ErrorKind.NONE]
    assert results[-1].cost > 0


def test_a_server_that_goes_away_is_replaced(serve, measurer, background):
    first = serve(allow_host_code=True)
    task = convolutions()[0]
    assert measurer.default(task).error is ErrorKind.NONE
    second = serve(allow_host_code=True)
    background.stop(first)
    (result,) = measurer.measure(task, [made_of(task)])
    assert result.error is ErrorKind.NONE
    assert second is not first


def test_the_command_tunes_for_a_server(serve, tracker, tmp_path, capsys):
    pytest.importorskip("xgboost")
    serve(allow_host_code=True)
    log = tmp_path / "auto.log"
    arguments = ["tune", model_path(), "--target", "llvm", "--auto", "--workload", "1", "--trials", "3", "--records", log]
    quick = ["--number", "1", "--min-repeat-ms", "0.1", "--tracker", tracker.address, "--key", "sim"]
    assert main([*map(str, [*arguments, *quick]), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["trials"] == 3
    assert all(line.record is not None for line in read_log(log))
