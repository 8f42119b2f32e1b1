"""`vta report`: a page for a browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from vta.cli.options import HelpFormatter, add_debug, add_json, output_file
from vta.cli.terminal.output import Output, count, size

__all__ = ["register"]

_DESCRIPTION = """\
Write one HTML file that shows a compiled network, a run, a tuning log or a sweep. It needs no network, and no program but a
browser. A network is run once on the cycle engine, with random inputs. Needs the extra 'report'.
"""

_EXAMPLES = """\
examples:
  vta report net.vta -o net.html                 the graph, cycles and their causes, the roofline, everything over time
  vta run net.vta --device cycle --json > run.json
  vta report run.json -o run.html                what is left of a run
  vta report tuned.log -o tuned.html             tuning curves, all trials, the knobs of the good ones
  vta report blocks -o blocks.html               the folder of a sweep: Pareto front, parallel coordinates
  vta report net.vta -o net.html --figures figures     each figure as SVG and PNG, too
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "report", help=summary, description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=HelpFormatter
    )
    parser.add_argument(
        "what",
        type=_existing,
        metavar="WHAT",
        help="a .vta file, what 'vta run --json' printed, a log of 'vta tune', or the directory of 'vta sweep'",
    )
    parser.add_argument("-o", "--output", type=output_file, required=True, metavar="OUT.html", help="the page")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="write each figure here, too, as SVG and PNG")
    parser.add_argument(
        "--suggest",
        action="store_true",
        help="of a .vta file: look for what would help, as 'vta explain' does; this takes longer",
    )
    add_json(parser)
    add_debug(parser)
    parser.set_defaults(run=_run)


def _existing(text: str) -> Path:
    """Parse the path of a file or directory that must exist."""
    path = Path(text)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"{text}: no such file or directory")
    return path


def _run(options: argparse.Namespace) -> None:
    from vta.cli.flags import as_options
    from vta.pages.report import page_of
    from vta.pages.write import write_figures, write_page

    output = Output(options.json)
    with output.progress() as progress:
        page = page_of(options.what, suggest=options.suggest, say=as_options, progress=progress)
        progress("drawing")
        nbytes = write_page(page, options.output)
        progress("drawing figures")
        figures = write_figures(page, options.figures) if options.figures else []
    output.line(
        f"{options.output}: {size(nbytes)}, {count(len(page.figures) + len(page.graphs), 'figure')}; open it in a browser"
    )
    if figures:
        output.line(f"{options.figures}: {count(len(figures), 'file')}")
    output.result({"page": str(options.output), "kind": page.kind, "bytes": nbytes, "figures": [str(path) for path in figures]})
