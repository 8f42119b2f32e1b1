"""A log with odd lines: each is said with its number, and the rest is used."""

import json
import logging
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.autotune._tasks import small_task
from tests.integer_graphs import BASELINE
from tests.records.test_log import PUBLISHED, record
from vta.autotune.usable import use_problem
from vta.errors import TuningError
from vta.records.check import cost_problem
from vta.records.history import load_history
from vta.records.log import RecordLog, parse_line, pick_best, read_log, to_line, to_pickled_line
from vta.records.region import choice_records, pick_best_with_regions
from vta.support.shorten import shown

GOOD = to_line(record(1e-3, 3))
PLACED = to_line(choice_records([record(1e-3, 3)], "region", [0], 900)[0])
PICKLED = to_pickled_line(record(1e-3, 3))
OLD = (
    json.dumps(
        {
            "i": [PUBLISHED["input"][0], "topi", [], {},
                  ["dense", [1, 16, 1, 16, "int8"], [8, 16, 16, 16, "int8"], None, "int32"],
                  {"i": 3, "t": "", "e": [["tile_ci", "sp", [1, 16]]], "c": None}],
            "r": [[1e-3], 0, 1.0, 2.0],
            "v": 0.1,
        }
    )
    + "\n"
)  # fmt: skip
LONG = "9" * 5000

ODD = {
    "latin-1": b'{"input": "caf\xe9"}\n',
    "utf-16": "nonsense".encode("utf-16") + b"\n",
    "half a character": b'{"input": ["\\ud800"]}\n',
    "no object": b"[1, 2]\n",
    "null": b"null\n",
    "a nul byte": b"\0\n",
    "nested": b"[" * 100_000 + b"\n",
    "nested objects": b'{"input": ' * 10_000 + b"\n",
    "a long number": GOOD.replace("[0.001]", f"[{LONG}]").encode(),
    "a long index": GOOD.replace('"index": 3', f'"index": {LONG}').encode(),
    "a long error code": GOOD.replace("[0.001], 0", f"[0.001], {LONG}").encode(),
    "a long size": GOOD.replace("[1, 2, 6, 6, 1, 16]", f"[1, 2, {LONG}, 6, 1, 16]").encode(),
    "a long line": b'{"input": "' + b"x" * (5 << 20) + b'"}\n',
    "a key twice": GOOD.replace('{"input"', '{"version": 0.2, "input"').encode(),
}
COSTS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "-1e400",
    "-1e-3",
    "0",
    "0.0",
    '"1e-3"',
    "true",
    "null",
    "[1e-3]",
    "{}",
    "1e300, 1e308",
]
FIELDS = {
    '"vta": {': ['"vta": null, "x": {', '"vta": [], "x": {', '"vta": 7, "x": {'],
    '"device": "cycle"': ['"device": 7', '"device": null', '"device": ["cycle"]', r'"device": "\u001b[31m"'],
    '"cycles": 100000': ['"cycles": -1', '"cycles": 1.5', '"cycles": "1"', '"cycles": true', '"cycles": []'],
    "[0.001], 0, 0.1": ["[0.001], 9, 0.1", "[0.001], -1, 0.1", "[0.001], 0.0, 0.1", '[0.001], "0", 0.1', "[0.001], null, 0.1",
                        "[], 0, 0.1",
                        "0.001, 0, 0.1", '[0.001], 0, "x"', "[0.001], 0"],
    '"index": 3': ['"index": null', '"index": "3"', '"index": 1e400', '"index": true', '"index": -7'],
    '["tile_b", "sp", [1, 1]]': ['["tile_b", "sp"]', "7", "null", '["tile_b", "sp", {}]',
                                 '[["tile_b"], "sp", [1, 1]]', '["tile_b", 7, [1, 1]]'],
    '"config": {': ['"config": null, "x": {', '"config": [], "x": {'],
    '"version": 0.2': ['"version": null', '"version": [0.2]', '"version": "0.2"', '"version": 7'],
    '"conv2d_packed.vta"': ["7", "null", '["conv2d_packed.vta"]', r'"conv\u001b"'],
    '["TENSOR", [1, 2, 6, 6, 1, 16], "int8"]': [
        '["TENSOR"]', '["TENSOR", 7, "int8"]', '["TENSOR", [1, -2], "int8"]', '["TENSOR", [1, "2"], "int8"]',
                                                  '["TENSOR", [1.5], "int8"]', '["TENSOR", [1], 8]', "{}"],
}  # fmt: skip


def check_the_rest_is_used(path, line, caplog):
    """The line between good ones is no record, or one that is judged; the good ones are found whatever it is."""
    path.write_bytes(b"# head\n" + line + GOOD.encode())
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        history = load_history(path, shipped=None)
        chosen = history.choose(small_task().operator, BASELINE)
    assert chosen == small_task().space.schedule(3)
    return caplog.messages


@pytest.mark.parametrize("odd", ODD)
def test_the_line_is_said_and_the_rest_is_used(odd, tmp_path, caplog):
    path = tmp_path / "net.log"
    messages = check_the_rest_is_used(path, ODD[odd], caplog)
    assert len(messages) == 1
    assert messages[0].startswith(f"{path}:2: skipped: ")
    assert len(messages[0]) < 400 + len(str(path))
    assert messages[0].isprintable()


@pytest.mark.parametrize("cost", COSTS)
def test_costs_that_are_none(cost, tmp_path, caplog):
    (message,) = check_the_rest_is_used(tmp_path / "net.log", GOOD.replace("[0.001]", f"[{cost}]").encode(), caplog)
    assert ":2: skipped: " in message


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in FIELDS.items() for value in values])
def test_fields_that_are_none(field, value, tmp_path, caplog):
    assert GOOD.count(field) == 1
    (message,) = check_the_rest_is_used(tmp_path / "net.log", GOOD.replace(field, value).encode(), caplog)
    assert ":2: skipped: " in message


@pytest.mark.parametrize("odd", ODD)
def test_region_records_and_picking_go_on(odd, tmp_path):
    path = tmp_path / "net.log"
    path.write_bytes(ODD[odd] + PLACED.encode() + PICKLED.encode())
    first, *rest = read_log(path)
    assert first.problem
    assert not first.comment
    records = [line.record for line in rest]
    assert [found.source for found in records] == [f"{path}:2", f"{path}:3"]
    assert pick_best_with_regions(records) == [records[0]]


def test_a_byte_order_mark_is_no_odd_line(tmp_path):
    path = tmp_path / "net.log"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert [line.record for line in read_log(path)] == [record(1e-3, 3)]


def test_comments_may_hold_any_bytes(tmp_path):
    path = tmp_path / "net.log"
    path.write_bytes(b"# caf\xe9\n" + GOOD.encode())
    assert read_log(path)[0].comment


def test_only_regular_files_are_logs(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/full", "/dev/zero"):
        with pytest.raises(TuningError, match="regular file"):
            read_log(path)
    for path in (tmp_path / "pipe", "/dev/full"):
        with pytest.raises(TuningError, match="regular file"):
            RecordLog(path).append([record()])


def mutated(line: bytes, seed: int) -> bytes:
    """A line with some bytes or words replaced, doubled or taken out."""
    rng = random.Random(seed)
    for _ in range(rng.randint(1, 3)):
        at, length = rng.randrange(len(line)), rng.choice([0, 1, 1, 4, 20])
        words = [b"", b"[", b"]", b"{", b"}", b'"', b",", b"-", b"null", b"true", b"1e400", b"NaN", b"0", b"\xff", b"\\u0000",
                 b"9" * 40, line[rng.randrange(len(line)) :][: rng.choice([1, 5, 30])]]  # fmt: skip
        line = line[:at] + rng.choice(words) + line[at + length :]
    return line.replace(b"\n", b"") + b"\n"


@given(st.sampled_from([GOOD, PLACED, PICKLED, OLD]), st.integers(0, 2**32))
def test_any_line_is_a_record_or_a_problem(line, seed):
    text = mutated(line.encode(), seed)
    found = parse_line(text.decode(errors="replace"), 7)
    if found.record is None:
        assert found.comment or (0 < len(found.problem) <= 300 and found.problem.isprintable())
        return
    assert use_problem(found.record).isprintable()
    assert cost_problem(found.record).isprintable()
    assert parse_line(to_line(found.record)).problem == ""
    pick_best([found.record, record()])
    pick_best_with_regions([found.record, record()])


LEAVES = st.none() | st.booleans() | st.floats() | st.integers() | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(VALUES, st.sampled_from(["input", "config", "result", "version", "vta"]))
def test_any_value_of_a_field_is_a_record_or_a_problem(value, field):
    values = {**json.loads(PLACED), field: value}
    found = parse_line(json.dumps(values))
    assert (found.record is None) == bool(found.problem), shown(value)
