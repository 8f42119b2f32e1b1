"""The table on disk."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.autotune.test_odd_lines import mutated
from vta.config.hardware import HardwareConfig
from vta.errors import SweepError
from vta.sweep.points import expand, points_of
from vta.sweep.spec import Spec
from vta.sweep.table import COLUMNS, Row, Status, Table, row_of

WORKLOAD = "conv2d_packed.vta:1x1x6x6x1x16:2x1x3x3x16x16:1x1:1x1x1x1:1x1"


def row(number, status=Status.OK, reason=""):
    return Row(
        number,
        "sim_1x16",
        64,
        16,
        "add.vta:1x2",
        status,
        100 + number,
        50,
        200,
        4096,
        256,
        5000,
        6000,
        1000,
        2000,
        2000,
        4,
        reason,
    )


@pytest.fixture
def table(tmp_path):
    made = Table(tmp_path / "sweep.csv")
    made.replace([])
    return made


def test_rows_come_back(table):
    rows = [row(2), row(0, Status.FAILED, 'a "reason", with commas'), row(1)]
    for entry in rows:
        table.append(entry)
    assert table.read() == rows
    table.replace(rows)
    assert [entry.point for entry in table.read()] == [0, 1, 2]
    assert table.path.read_text().splitlines()[0] == ",".join(COLUMNS)


def test_every_cut_leaves_the_whole_rows(table):
    for number in range(2):
        table.append(row(number))
    whole = table.path.read_bytes()
    ends = [position + 1 for position, byte in enumerate(whole) if byte == ord("\n")]
    for size in range(len(whole) + 1):
        table.path.write_bytes(whole[:size])
        assert [entry.point for entry in table.read()] == list(range(max(0, sum(end <= size for end in ends) - 1)))


def test_no_table_yet(tmp_path):
    assert Table(tmp_path / "none.csv").read() == []


def test_other_files_are_refused(table):
    table.path.write_text("a,b\n1,2\n")
    with pytest.raises(SweepError, match=r"line 1 is 'a,b'; a sweep's table begins with point,config"):
        table.read()
    table.path.write_text(",".join(COLUMNS[::-1]) + "\n1,2\n")
    with pytest.raises(SweepError, match="line 1 is 'reason,"):
        table.read()


@pytest.fixture(scope="module")
def points():
    spec = Spec(HardwareConfig.named("sim").to_json(), {}, {"bus_bits": (64, 128)}, (), (WORKLOAD,))
    designs, _ = expand(spec)
    return points_of(designs, spec.works)


def results_of(points):
    return [row_of(point, Status.OK, cycles=1000, roofline=900, macs=5, energy={"mac": 7.0}, trials=3) for point in points]


def written(path, rows, extra=b""):
    table = Table(path)
    table.replace(rows)
    path.write_bytes(path.read_bytes() + extra)
    return table


ODD = {
    "not UTF-8": b"caf\xe9,1,2\n",
    "a nul byte": b"0,\0\n",
    "too few": b"1,2\n",
    "a quote that is open": b'1,"\n',
    "long": b"x" * (1 << 17) + b"\n",
    "empty": b"\n",
    "words for numbers": b"0,c,x,16,w,ok,1,1,1,1,1,1,1,1,1,1,1,\n",
    "other digits": "\uff10,c,64,16,w,ok,1,1,1,1,1,1,1,1,1,1,1,\n".encode(),
    "long numbers": b"0,c,64,16,w,ok," + b"9" * 5000 + b",1,1,1,1,1,1,1,1,1,1,\n",
    "another status": b"0,c,64,16,w,fine,1,1,1,1,1,1,1,1,1,1,1,\n",
    "negative": b"-1,c,64,16,w,ok,1,1,1,1,1,1,1,1,1,1,1,\n",
}


@pytest.mark.parametrize("odd", ODD)
def test_a_line_that_is_no_row_is_said_and_the_rest_is_used(odd, points, tmp_path, caplog):
    rows = results_of(points)
    table = written(tmp_path / "sweep.csv", rows, ODD[odd])
    assert table.results(points) == dict(enumerate(rows))
    (message,) = caplog.messages
    assert message.startswith(f"{table.path}:4: skipped: ")
    assert message.isprintable()
    assert len(message) < 300 + len(str(table.path))


@pytest.mark.parametrize(
    "change",
    [
        {"point": 7},
        {"config": "sim_1x32"},
        {"bus_bits": 256},
        {"workload": "add.vta:1x2"},
        {"cycles": 0},
        {"roofline_cycles": 1001},
    ],
)
def test_a_row_that_is_no_result_of_its_point_is_run_again(change, points, tmp_path, caplog):
    rows = results_of(points)
    table = written(tmp_path / "sweep.csv", [replace(rows[0], **change), rows[1]])
    assert table.results(points) == {1: rows[1]}
    assert len(caplog.messages) == 1


def test_two_results_of_a_point_are_none(points, tmp_path):
    rows = results_of(points)
    table = written(tmp_path / "sweep.csv", [*rows, rows[1], replace(rows[0], cycles=950)])
    assert table.results(points) == {1: rows[1]}


@given(st.integers(0, 2**32))
def test_any_change_of_a_line_leaves_the_others(points, tmp_path_factory, seed):
    rows = results_of(points)
    path = tmp_path_factory.mktemp("table") / "sweep.csv"
    table = written(path, rows)
    head, first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([head, mutated(first, seed), *rest]))
    found = table.results(points)
    assert found[1] == rows[1]
    # What cannot be told from a result is one.
    assert set(found) <= {0, 1}


def test_only_regular_files_are_tables(tmp_path):
    (tmp_path / "sweep.csv").mkdir()
    with pytest.raises(SweepError, match="no regular file"):
        Table(tmp_path / "sweep.csv").read()
