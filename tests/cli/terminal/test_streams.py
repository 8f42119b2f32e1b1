"""Standard output and standard error in encodings that lack characters of tables and names."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from vta.cli.terminal.streams import standard_streams
from vta.report.table import write_table
from vta.support.table import Table


def _written(monkeypatch: pytest.MonkeyPatch, encoding: str, work: Callable[[], None]) -> tuple[str, str]:
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    with standard_streams():
        work()
        sys.stdout.flush()
        sys.stderr.flush()
    output, remarks = (stream.buffer.getvalue().decode(encoding) for stream in streams)  # type: ignore[attr-defined]
    return output, remarks


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "euc-kr"])
def test_tables_have_lines_that_the_encoding_has(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    table = Table(("layer", "cycles"), (("conv1", "12"),), (False, True))

    def work() -> None:
        write_table(table, sys.stdout)
        write_table(table, sys.stderr)

    output, remarks = _written(monkeypatch, encoding, work)
    assert output == remarks
    assert "conv1" in output
    assert "\\u" not in output
    if encoding != "euc-kr":
        assert output.splitlines()[0] == "+-------+--------+"
        assert output.isascii()


def test_what_the_encoding_has_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    output, remarks = _written(monkeypatch, "latin-1", lambda: print("größe", file=sys.stdout))
    assert (output, remarks) == ("größe\n", "")


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_names_that_cannot_be_written_are_escaped(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    def work() -> None:
        print("caf\udce9.vta")
        print("caf\udce9.vta", file=sys.stderr)

    assert _written(monkeypatch, encoding, work) == ("caf\\udce9.vta\n", "caf\\udce9.vta\n")
