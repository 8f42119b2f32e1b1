"""The table on disk."""

import pytest

from vta.errors import SweepError
from vta.sweep.table import COLUMNS, Row, Status, Table


def row(number, status=Status.OK, reason=""):
    return Row(number, "sim_1x16", 64, 16, "add.vta:1x2", status, 100 + number, 50, 200, 4096, 256, 5000, 6000, 4, reason)


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
    table.path.write_text(",".join(COLUMNS) + "\n1,2\n")
    with pytest.raises(SweepError, match="2 values in '1,2', expected 15"):
        table.read()
