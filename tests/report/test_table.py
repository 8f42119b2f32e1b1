import io
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vta.report import table as module
from vta.report.table import write_table
from vta.support.table import make_table

TEXTS = st.text(st.sampled_from("ab [/]:é日\n\t"), max_size=12)
TABLES = st.integers(1, 4).flatmap(
    lambda columns: st.builds(
        make_table,
        st.lists(TEXTS, min_size=columns, max_size=columns),
        st.lists(st.lists(TEXTS | st.integers(), min_size=columns, max_size=columns), max_size=4),
        TEXTS,
    )
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def written(table, stream=None):
    stream = stream or io.StringIO()
    write_table(table, stream)
    return stream.getvalue()


def lines(table):
    return [line.strip("│┃ ").replace("┃", "│") for line in written(table).splitlines() if "─" not in line and "━" not in line]


def test_numbers_align_right_with_separators_and_text_left():
    assert lines(make_table(("name", "macs", "share"), [("conv", 12345, "0.5"), ("a longer name", 7, "0.25")])) == [
        "name          │   macs │ share",
        "conv          │ 12,345 │ 0.5",
        "a longer name │      7 │ 0.25",
    ]


def test_no_rows():
    assert lines(make_table(("a", "b"), iter(()))) == ["a │ b"]


def test_title():
    assert lines(make_table(("a long header",), [("x",)], "Names"))[0] == "Names"


@given(TABLES)
@example(make_table([": "], [[0]], "a "))
def test_what_is_written_plainly_is_what_rich_writes(table):
    plain = written(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_is_plain", lambda table: False)
        assert plain == written(table)


def test_a_terminal_narrower_than_the_table_folds_it(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("TERM", "dumb")
    text = written(make_table(("name",), [("x" * 100,)]), Terminal())
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("x") == 100


def test_a_plain_table_does_without_rich():
    code = "import sys; from vta.report.table import write_table; from vta.support.table import make_table; "
    code += "write_table(make_table(['a'], [[1]], 'b'), sys.stdout); assert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)


def test_a_narrow_terminal_does_without_columns_that_can_be_spared(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    table = make_table(("name", "in\nfull", "cycles"), [("conv", "x" * 40, 12)], spare=("in\nfull",))
    text = written(table, Terminal())
    assert "12" in text
    assert "xx" not in text
    assert "no room for the columns in full" in text
    assert "x" * 40 in written(table)
