"""Pages and pictures of every kind."""

import json
import re
import sys

import pytest

import vta
from vta.cli.main import main
from vta.pages.network_page import network_page
from vta.pages.page import Note, TablePart
from vta.pages.report import page_of, write_report
from vta.pages.vega import PageError

LARGEST = 5 << 20


@pytest.fixture
def paths(sources, run_file):
    return {**sources, "run": run_file}


@pytest.mark.parametrize("kind", ["network", "run", "tuning", "sweep"])
def test_what_is_given_decides_the_page(kind, paths):
    page = page_of(paths[kind])
    assert page.kind == kind
    assert len({figure.name for figure in page.figures}) == len(page.figures) > 2


@pytest.mark.parametrize("kind", ["network", "tuning", "sweep"])
def test_a_page_is_one_small_file_that_names_no_address(kind, paths, tmp_path):
    pytest.importorskip("vl_convert")
    path = tmp_path / "page.html"
    assert vta.write_report(paths[kind], path) == path.stat().st_size < LARGEST
    text = path.read_text()
    ours = text[: text.index('<script type="application/json"')]
    # The library's own code has such words in it; that it asks for nothing is seen in a browser.
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", ours)
    assert "http" not in re.sub(r'xmlns="http://www.w3.org/2000/svg"', "", ours)
    json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_figures_are_pictures_too(paths, tmp_path, capsys):
    pytest.importorskip("vl_convert")
    command = ["report", str(paths["sweep"]), "-o", str(tmp_path / "page.html"), "--figures", str(tmp_path / "figures"), "--json"]
    assert main(command) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["kind"] == "sweep"
    assert result["bytes"] == (tmp_path / "page.html").stat().st_size
    names = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert names == {"area", "energy", "parallel", "effects"}
    assert len(result["figures"]) == 2 * len(names)
    for name in names:
        assert (tmp_path / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / "figures" / f"{name}.svg").read_text().startswith("<svg")


def test_a_module_that_was_not_run_has_a_page(module):
    page = network_page(module, "still")
    assert [section.name for section in page.sections] == ["graph", "resources", "tables"]
    assert "not run" in page.about


def test_what_would_help_is_shown_on_request(module, report):
    page = page_of(module, report, suggest=True)
    (cycles,) = (section for section in page.sections if section.name == "cycles")
    (table,) = (part for part in cycles.parts if isinstance(part, TablePart))
    assert all(row[1] < report.cycles for row in table.rows)


def test_names_of_layers_are_text_and_nothing_else(module, report, tmp_path):
    pytest.importorskip("vl_convert")
    from vta.pages.markup import html_of
    from vta.pages.page import Page, Section

    bad = "</script><script>alert(1)</script>"
    page = network_page(module, bad, report)
    text = html_of(Page(page.title, "network", bad, (), (*page.sections, Section("more", "More", (Note(bad, (bad,)),)))))
    assert "alert(1)</script>" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_without_the_library_it_is_said_how_to_install_it(paths, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    from vta.pages import vega

    vega.scripts.cache_clear()
    assert main(["report", str(paths["tuning"]), "-o", str(tmp_path / "page.html")]) == 1
    assert "pip install 'vta[report]'" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_what_has_no_page_is_named(tmp_path, capsys):
    assert main(["report", str(tmp_path / "none"), "-o", str(tmp_path / "page.html")]) == 2
    assert "no such file or directory" in capsys.readouterr().err
    (tmp_path / "text").write_text("hello\n")
    assert main(["report", str(tmp_path / "text"), "-o", str(tmp_path / "page.html")]) == 1
    assert "text: has no tuning record" in capsys.readouterr().err
    with pytest.raises(PageError, match="cannot be read"):
        page_of(tmp_path / "gone.log")


def test_what_a_page_is_about_is_not_written_over(tmp_path):
    log = tmp_path / "tuning.log"
    log.write_text("{}\n")
    (tmp_path / "page.html").symlink_to(log)
    for path in (log, str(log), tmp_path / "page.html"):
        with pytest.raises(PageError, match="the page would be written over what it is about"):
            write_report(log, path)
    assert log.read_text() == "{}\n"
