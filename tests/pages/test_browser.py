"""Pages in a real browser: what is drawn, and what clicks do."""

import pytest

from tests.pages.browser import Browser, open_browser
from vta.pages.report import write_report


@pytest.fixture(scope="module")
def pages(sources, run_file, tmp_path_factory):
    """The page of each kind of source."""
    pytest.importorskip("vl_convert")
    folder = tmp_path_factory.mktemp("html")
    for kind, path in {**sources, "run": run_file}.items():
        write_report(path, folder / f"{kind}.html")
    return folder


@pytest.fixture(scope="module")
def driver(pages):
    driver = open_browser()
    yield driver
    driver.quit()


@pytest.fixture
def browser(driver):
    """A tab; in the end nothing was fetched and nothing complained of."""
    browser = Browser(driver)
    yield browser
    assert browser.complaints() == []
    assert browser.requests() == []


@pytest.mark.parametrize(
    ("kind", "width", "theme"),
    [
        ("network", 1280, "light"),
        ("run", 1280, "dark"),
        ("tuning", 1280, "light"),
        ("sweep", 1280, "dark"),
        ("network", 360, "dark"),
        ("sweep", 360, "light"),
    ],
)
def test_pages_are_drawn_for_desktops_and_phones(kind, width, theme, browser, pages):
    browser.open(pages / f"{kind}.html", width=width, theme=theme, touch=width < 600)
    assert browser.value("document.documentElement.dataset.theme") == theme
    assert browser.value("document.documentElement.scrollWidth") <= width
    plots = browser.value(
        "[...document.querySelectorAll('.plot')].map((plot) => plot.querySelectorAll('svg path, svg text').length)"
    )
    assert plots
    assert min(plots) > 5, "each figure has something in it"


def test_the_graph_zooms_searches_and_tells(browser, pages, module):
    browser.open(pages / "network.html")
    shown = "window.vtaPage.graphs[0].view().width"
    before = browser.value(shown)
    browser.click('[data-zoom="in"]')
    assert browser.value(shown) < before
    browser.click('[data-zoom="fit"]')
    fitted = browser.value(shown)
    wheel = "document.querySelector('.graph-area').dispatchEvent(new WheelEvent('wheel', { deltaY: -300, cancelable: true }))"
    browser.js(wheel)
    assert browser.value(shown) < fitted

    name = module.regions[0].operators[0].name
    browser.write(".graph-search", name)
    hits = browser.value("document.querySelectorAll('.node.hit').length")
    assert 1 <= hits < browser.value("document.querySelectorAll('.node').length")
    assert browser.value("document.querySelector('.found').textContent").startswith(f"{hits} of ")

    browser.click(".node.vta.hit")
    assert browser.value("window.vtaPage.chosenLayer()") == name
    assert name in browser.value("document.querySelector('.graph-details').textContent")
    assert browser.value("window.vtaPage.drawn.layers.signal('chosen_layer')") == name
    assert browser.value("document.querySelectorAll('tr.chosen').length") == 1
    browser.click(".node.host")
    assert "the host" in browser.value("document.querySelector('.graph-details').textContent")


def test_hovering_shows_what_a_bar_is(browser, pages):
    browser.open(pages / "network.html")
    browser.hover(browser.find('[data-figure="layers"] .mark-rect.role-mark path'))
    browser.wait("document.querySelector('#vg-tooltip-element.visible') !== null")
    assert "cause" in browser.value("document.querySelector('#vg-tooltip-element').textContent")


def test_a_brush_over_the_run_moves_all_figures_over_time(browser, pages, report):
    browser.open(pages / "network.html")
    browser.drag('[data-figure="overview"] svg', (0.3, 0.4), (0.6, 0.4))
    browser.wait("window.vtaPage.cycles() !== null")
    first, last = browser.value("window.vtaPage.cycles()")
    assert 0 < first < last < report.cycles
    for figure in ("timeline", "sram", "dram", "traffic"):
        assert browser.value(f"window.vtaPage.drawn.{figure}.signal('from')") == pytest.approx(first)
        assert browser.value(f"window.vtaPage.drawn.{figure}.signal('to')") == pytest.approx(last)
    browser.click('[data-move="in"]')
    closer = browser.value("window.vtaPage.cycles()")
    assert closer[1] - closer[0] == pytest.approx((last - first) / 2)
    browser.click('[data-move="all"]')
    assert browser.value("window.vtaPage.cycles()") == [0, report.cycles]


def test_brushes_choose_designs_in_all_figures_and_in_the_table(browser, pages):
    browser.open(pages / "sweep.html")
    rows = "[...document.querySelectorAll('table[data-table=ranking] tbody tr')].filter((row) => !row.hidden).length"
    assert browser.value(rows) == 8
    browser.drag('[data-figure="area"] svg', (0.12, 0.25), (0.6, 0.92))
    browser.wait("window.vtaPage.picked() !== null")
    chosen = browser.value("window.vtaPage.picked()")
    assert 0 < len(chosen) < 8
    assert browser.value(rows) == len(chosen)
    assert browser.value("window.vtaPage.drawn.parallel.signal('picked')") == chosen
    assert browser.value("document.querySelector('.picked').textContent") == f"{len(chosen)} of 8 chosen"

    browser.click("#figure-area [data-clear]")
    browser.wait(f"document.body.dataset.ready === 'yes' && {rows} === 8")
    browser.drag('[data-figure="parallel"] .hit_0 path', (0.5, 0.97), (0.5, 0.6))
    browser.wait("window.vtaPage.picked() !== null")
    assert len(browser.value("window.vtaPage.picked()")) == 4, "half of the designs have the smaller buffer"
    assert browser.value(rows) == 4


def test_tables_sort_and_filter(browser, pages):
    browser.open(pages / "sweep.html")
    column = (
        "[...document.querySelectorAll('table[data-table=ranking] tbody tr')].map((row) => Number(row.cells[0].dataset.value))"
    )
    assert browser.value(column) == list(range(1, 9))
    browser.click("table[data-table=ranking] th button")
    assert browser.value(column) == list(range(8, 0, -1))
    browser.write(".table-search", "yes")
    shown = browser.value(
        "[...document.querySelectorAll('table[data-table=ranking] tbody tr')].filter((row) => !row.hidden).length"
    )
    assert 0 < shown < 8


def test_the_switch_redraws_in_the_other_colours(browser, pages):
    browser.open(pages / "tuning.html", theme="dark")
    color = "getComputedStyle(document.querySelector('[data-figure=curves] .role-axis-label text')).fill"
    before = browser.value(color)
    browser.click("#theme")
    browser.wait(f"document.body.dataset.ready === 'yes' && {color} !== '{before}'")
    assert browser.value("document.documentElement.dataset.theme") == "light"


def test_a_workload_can_be_chosen(browser, pages):
    browser.open(pages / "tuning.html")
    names = browser.value("[...document.querySelectorAll('[data-figure=trials] option')].map((option) => option.value)")
    assert len(names) > 1
    browser.js(
        "const box = document.querySelector('[data-figure=trials] select'); box.value = arguments[0];"
        "box.dispatchEvent(new Event('input', { bubbles: true })); box.dispatchEvent(new Event('change', { bubbles: true }))",
        names[1],
    )
    browser.wait(f"window.vtaPage.drawn.trials.signal('workload') === {names[1]!r}")
