import json

import numpy as np
import pytest

from vta.cli.terminal import output as output_module
from vta.cli.terminal.output import Output, Progress, count, size
from vta.support.table import make_table


def test_text_goes_to_standard_output(capsys):
    output = Output(as_json=False)
    output.line("hello")
    output.result({"a": 1})
    assert capsys.readouterr() == ("hello\n", "")


def test_json_leaves_standard_output_to_one_object(capsys):
    output = Output(as_json=True)
    output.line("hello")
    output.result({"a": np.int64(1), "b": np.float32(0.5), "c": np.bool_(True), "d": None})
    printed = capsys.readouterr()
    assert printed.err == "hello\n"
    assert json.loads(printed.out) == {"a": 1, "b": 0.5, "c": True, "d": None}


def test_short_jobs_show_no_progress(capsys):
    with Output(as_json=False).progress() as progress:
        progress("importing")
        progress("compiling", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_longer_jobs_print_one_line_a_stage_where_there_is_no_terminal(capsys):
    progress = Progress()
    progress("importing")
    progress._timer.function()
    progress("importing", 1, 2)
    progress("compiling", 0, 3)
    progress("compiling", 1, 3)
    progress.close()
    progress("late")
    assert capsys.readouterr() == ("", "importing ...\ncompiling ...\n")


def test_progress_that_is_closed_stays_away(capsys):
    progress = Progress()
    progress.close()
    progress._timer.function()
    progress("compiling")
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_a_bar_is_shown_and_removed(monkeypatch, capsys):
    class Terminal:
        def isatty(self):
            return True

        def __getattr__(self, name):
            return getattr(stream, name)

    stream = output_module.sys.stderr
    monkeypatch.setattr(output_module.sys, "stderr", Terminal())
    progress = Progress()
    progress._timer.function()
    progress("compiling", 1, 3)
    progress.close()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("nbytes", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 20, "5.0 MiB"), (3 << 30, "3.0 GiB")]
)
def test_sizes(nbytes, text):
    assert size(nbytes) == text


def test_tables_in_a_pipe_are_as_wide_as_they_need_to_be(capsys):
    Output(as_json=False).show(make_table(("name",), [("x" * 300,)]))
    assert "x" * 300 in capsys.readouterr().out


@pytest.mark.parametrize("name", ["block[a]/conv", "conv[/x]", "[bold]", ":smile:"])
def test_names_in_tables_are_shown_as_they_are(name, capsys):
    Output(as_json=False).show(make_table(("name",), [(name,)], name))
    assert capsys.readouterr().out.count(name) == 2


def test_tables_go_to_standard_error_with_json(capsys):
    Output(as_json=True).show(make_table(("name",), [("x",)]))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "x" in printed.err


@pytest.mark.parametrize(("number", "text"), [(0, "0 regions"), (1, "1 region"), (1234, "1,234 regions")])
def test_counts(number, text):
    assert count(number, "region") == text
    assert count(1234) == "1,234"
