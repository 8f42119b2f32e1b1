"""The page of whatever is given: a module, a `.vta` file, a run, a tuning log, or the folder of a sweep."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from vta.devices.cycle import CycleDevice
from vta.explanation.explain import explain_module
from vta.pages.data.run_file import load_run
from vta.pages.data.stored_sweep import load_sweep
from vta.pages.data.tuning_log import load_log
from vta.pages.network_page import network_page
from vta.pages.page import Page
from vta.pages.run_page import run_page
from vta.pages.sweep_page import sweep_page
from vta.pages.tuning_page import tuning_page
from vta.pages.vega import PageError
from vta.pages.write import write_figures, write_page
from vta.report.costs.layer_costs import with_faster_steps
from vta.report.settings import Say, in_python
from vta.runtime.compiled_module import CompiledModule, load
from vta.runtime.evaluation.random_inputs import any_value, random_inputs
from vta.runtime.local_device import LocalDevice
from vta.runtime.reports import RunReport

__all__ = ["PageError", "page_of", "write_report"]

Progress = Callable[[str], None]
_FEW_SECONDS = 1.0
"""A run that took less is made again: the first of a process takes longer on the host than those after it."""


def _silent(_: str) -> None:
    pass


def write_report(
    what: CompiledModule | str | Path,
    path: str | Path,
    *,
    figures: str | Path | None = None,
    run: RunReport | None = None,
    suggest: bool = False,
    say: Say = in_python,
    progress: Progress = _silent,
) -> int:
    """Write the page of `what` as one HTML file that needs no network, and return its size in bytes.

    `what` is a compiled module, or the path of a `.vta` file, of the JSON that `vta run` printed, of a tuning log, or of a
    sweep's folder. A module is run once on the cycle engine, with random inputs, unless `run` is the report of a run with its
    timeline. With `suggest` the page also shows what would help, which takes as long as `vta.explain`. With `figures`, each
    figure is written to that folder, too, as SVG and PNG. `say` puts settings into words for advice.
    Needs the extra ``report``. Raises `PageError` without it, or if the page would be written over what it is about, and a
    `VTAError` that names what cannot be read.
    """
    if isinstance(what, (str, Path)) and os.path.exists(path) and os.path.exists(what) and os.path.samefile(what, path):
        raise PageError(f"{path}: the page would be written over what it is about: name another file")
    page = page_of(what, run, suggest=suggest, say=say, progress=progress)
    progress("drawing")
    size = write_page(page, path)
    if figures is not None:
        progress("drawing figures")
        write_figures(page, figures)
    return size


def page_of(
    what: CompiledModule | str | Path,
    run: RunReport | None = None,
    *,
    suggest: bool = False,
    say: Say = in_python,
    progress: Progress = _silent,
) -> Page:
    """The page of `what`, see `write_report`."""
    progress("reading")
    if isinstance(what, CompiledModule):
        return _network(what, what.graph.name, run, suggest, say, progress)
    if not isinstance(what, (str, Path)):
        raise PageError(f"a page is about a compiled module or what lies at a path, not {type(what).__name__}")
    path = Path(what)
    if path.is_dir():
        return sweep_page(load_sweep(path), path.resolve().name)
    kind = _kind(path)
    if kind == "network":
        return _network(load(path), path.stem, run, suggest, say, progress)
    return run_page(load_run(path), path.stem) if kind == "run" else tuning_page(load_log(path), path.stem)


def _kind(path: Path) -> str:
    """What a file holds, by its ending or its first letters. Raises `PageError` if it cannot be read."""
    if path.suffix == ".vta":
        return "network"
    try:
        with open(path, "rb") as stream:
            start = stream.read(4096)
    except OSError as error:
        raise PageError(f"{path}: cannot be read: {error.strerror}") from None
    if start.startswith(b"PK"):
        return "network"
    # A log has an object a line, each of which begins with its input; a run is one object.
    return "run" if start.lstrip().startswith(b'{"bit_exact"') or b'"layers"' in start else "log"


def _network(module: CompiledModule, name: str, run: RunReport | None, suggest: bool, say: Say, progress: Progress) -> Page:
    if not module.regions:
        return network_page(module, name, run, say)
    if run is None:
        progress("running on the cycle engine")
        run = _timed(module)
    progress("looking for what would help" if suggest else "finding causes")
    explanation = explain_module(module, suggest=suggest)
    progress("gathering")
    return network_page(module, name, run, say, explanation)


def _timed(module: CompiledModule) -> RunReport:
    inputs = random_inputs(module.graph, 0, any_value)
    with LocalDevice(CycleDevice(module.hw, timing_only=True)) as device, device.load(module) as loaded:
        report = loaded.run(inputs, timeline=True)
        return with_faster_steps(report, loaded.run(inputs)) if report.seconds < _FEW_SECONDS else report
