import io

from vta.report.table import write_table
from vta.support.table import make_table


def lines(table):
    stream = io.StringIO()
    write_table(table, stream)
    return [line.strip("│┃ ").replace("┃", "│") for line in stream.getvalue().splitlines() if "─" not in line and "━" not in line]


def test_numbers_align_right_with_separators_and_text_left():
    assert lines(make_table(("name", "macs", "share"), [("conv", 12345, "0.5"), ("a longer name", 7, "0.25")])) == [
        "name          │   macs │ share",
        "conv          │ 12,345 │ 0.5",
        "a longer name │      7 │ 0.25",
    ]


def test_no_rows():
    assert lines(make_table(("a", "b"), iter(()))) == ["a │ b"]


def test_title():
    assert lines(make_table(("a",), [("x",)], "Names"))[0] == "Names"
