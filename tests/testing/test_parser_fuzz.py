"""The fuzzer of readers: mutants are repeatable and varied, failures of every kind are found, made small and written down."""

import io
import json
import os
import sys
import time
import zipfile
from random import Random

import numpy as np
import pytest

from vta.errors import ConfigError
from vta.testing.parser_fuzz.__main__ import main
from vta.testing.parser_fuzz.mutations import mutate_bytes, mutate_text
from vta.testing.parser_fuzz.parsers import PARSERS, Parser
from vta.testing.parser_fuzz.seeds import seeds_of
from vta.testing.parser_fuzz.shrink import shrink
from vta.testing.parser_fuzz.structures import mutate_messages, mutate_vta, mutate_zip
from vta.testing.parser_fuzz.worker import Chunk, Given, Limits, judge_chunk, judge_given, mutant

LIMITS = Limits(seconds=5.0, memory_bytes=1 << 29)


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["parser_fuzz", *map(str, arguments)])
    return main()


def with_reader(monkeypatch, read):
    """Put a reader of texts in the place of all others, in this process."""
    parser = Parser("texts", ".txt", read, (mutate_bytes, mutate_text))
    monkeypatch.setitem(PARSERS, "texts", parser)
    return parser


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_every_reader_has_good_files(name, tmp_path):
    for content in seeds_of(name):
        verdict = judge_given(Given(name, content, LIMITS))
        assert (verdict.failure, verdict.detail) == ("", "")


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_some_mutants_of_every_reader(name, tmp_path):
    paths = []
    for index, content in enumerate(seeds_of(name)):
        paths.append(tmp_path / str(index))
        paths[-1].write_bytes(content)
    verdicts = judge_chunk(Chunk(name, tuple(map(str, paths)), 3, 0, 12, LIMITS))
    assert [verdict for verdict in verdicts if verdict.failure] == []


def test_a_mutant_follows_from_seed_and_index():
    parser, seeds = PARSERS["board"], seeds_of("board")
    mutants = [mutant(parser, seeds, 1, index) for index in range(50)]
    assert mutants == [mutant(parser, seeds, 1, index) for index in range(50)]
    assert len(set(mutants)) > 45
    assert mutants != [mutant(parser, seeds, 2, index) for index in range(50)]


def test_messages_stay_messages():
    import onnx
    from google.protobuf.message import DecodeError

    def is_message(content):
        try:
            return bool(onnx.load_model_from_string(content))
        except DecodeError:
            return False

    content = seeds_of("onnx")[0]
    assert sum(is_message(mutate_messages(content, Random(seed), [content])) for seed in range(200)) > 100


def test_checksums_are_made_right():
    content, readable = seeds_of("vta")[0], 0
    for seed in range(60):
        changed = mutate_vta(content, Random(seed), [content])
        readable += "checksum" not in judge_given(Given("vta", changed, LIMITS)).detail
    assert readable > 30


def test_members_of_archives_are_damaged():
    out = io.BytesIO()
    np.savez(out, x=np.zeros(4, np.float32))
    kinds = set()
    for seed in range(100):
        changed = mutate_zip(out.getvalue(), Random(seed), [out.getvalue()])
        kinds.add(zipfile.is_zipfile(io.BytesIO(changed)))
    assert kinds == {True, False} or kinds == {True}


def hidden(path):
    try:
        np.ones(1 << 28)
    except MemoryError:
        raise ConfigError(f"{path}: too much") from None


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("ZeroDivisionError", lambda path: 1 // 0),
        ("message does not name the file", lambda path: refuse("no idea")),
        ("long message", lambda path: refuse(f"{path}: " + "a line\n" * 10_000)),
        ("memory", lambda path: np.ones(1 << 28)),
        ("memory", hidden),
        ("slow", lambda path: spin()),
    ],
)
def test_every_kind_of_failure_is_seen(kind, read, monkeypatch):
    with_reader(monkeypatch, read)
    assert judge_given(Given("texts", b"x", Limits(0.1, 1 << 28))).failure == kind


def refuse(message):
    raise ConfigError(message)


def spin():
    while True:
        time.monotonic()


def test_printable_messages_pass(monkeypatch):
    with_reader(monkeypatch, lambda path: refuse(f"{path}: no"))
    verdict = judge_given(Given("texts", b"x", LIMITS))
    assert (verdict.failure, verdict.refused) == ("", True)


def test_failing_files_are_made_small():
    assert shrink(b"a" * 1000 + b"needle" + b"b" * 1000, lambda content: b"needle" in content, 1000) == b"needle"
    asked = []
    shrink(b"a" * 1000, lambda content: bool(asked.append(content)), 7)
    assert len(asked) == 7


def test_failures_are_written_down(tmp_path, monkeypatch, capsys):
    large = tmp_path / "large.npz"
    np.savez_compressed(large, x=np.zeros(10 << 20, np.float32))
    arguments = (
        "--parsers",
        "inputs",
        "--mutants",
        40,
        "--memory",
        "1M",
        "--jobs",
        1,
        "--out",
        tmp_path / "out",
        large,
        "--json",
    )
    assert run(monkeypatch, *arguments) == 1
    failures = json.loads(capsys.readouterr().out)["failures"]
    assert {failure["kind"] for failure in failures} == {"memory"}
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(written) == 2
    assert written[1] == f"{written[0]}.txt"
    assert (tmp_path / "out" / written[1]).read_text().startswith("memory\n")


def test_the_command(tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, "--parsers", "config,bit", "--mutants", 80, "--seed", 5, "--json", "--out", tmp_path) == 0
    result = json.loads(capsys.readouterr().out)
    assert sum(result["mutants"].values()) == 80
    assert result["failures"] == []
    assert os.listdir(tmp_path) == []


def test_files_of_ones_own(tmp_path, monkeypatch, capsys):
    own = tmp_path / "own.bit"
    own.write_bytes(seeds_of("bit")[0])
    assert run(monkeypatch, "--parsers", "bit", "--mutants", 20, own) == 0
    assert run(monkeypatch, "--parsers", "config", "--mutants", 20, own) == 2
    assert "own.bit: none of the parsers reads such files" in capsys.readouterr().err
