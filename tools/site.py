"""What the documents' site has beside `docs/`: the files of the root, and references that are made from the code.

MkDocs calls these functions (see `mkdocs.yml`).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
FROM_ROOT = {"index.md": "README.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "native/TIMING.md": "native/TIMING.md"}
"""Pages by the file of the root that they are."""
MOVED = {"docs/": "", "README.md": "index.md", "native/README.md": "architecture.md"}
"""What links of the root begin with, and what stands for it in the site."""
INSIDE = re.compile(rf"\]\((?:\.\./)*({'|'.join(map(re.escape, MOVED))}|(?=CONTRIBUTING\.md|native/))")
CODE_WORD = re.compile(r"^(```(?:console|python)) \w+$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put documents that the navigation does not name behind all others."""
    named = set(_named(config.nav))
    rest = [path.name for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in named]
    if rest:
        config.nav = [*(config.nav or []), {"More": rest}]
    return config


def _named(entry: object) -> Iterator[str]:
    """The pages of a part of the navigation."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict | list):
        for below in entry.values() if isinstance(entry, dict) else entry:
            yield from _named(below)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs/`."""
    from mkdocs.structure.files import File

    made = {page: (ROOT / source).read_text(encoding="utf-8") for page, source in FROM_ROOT.items()}
    made |= {"commands.md": commands_page(), "api.md": api_page()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as they are in the site; what tests are told of a block is left out."""
    up = "../" * page.file.src_uri.count("/")

    return CODE_WORD.sub(r"\1", INSIDE.sub(lambda found: f"]({up}{MOVED.get(found[1], '')}", text))


def commands_page() -> str:
    """Every command's help, as the command line prints it."""
    from vta.cli.main import COMMANDS, whole_parser

    lines = [
        "# Commands and their options",
        "",
        "What `--help` prints. [The command line](cli.md) has examples and keys of `--json`.",
        "",
    ]
    commands = next(action for action in whole_parser()._actions if isinstance(action, argparse._SubParsersAction)).choices
    for name in COMMANDS:
        for words, parser in _parsers(name, commands[name]):
            lines += [f"{'#' * (len(words.split()) + 1)} vta {words}", "", "```text", parser.format_help().rstrip(), "```", ""]
    return "\n".join(lines)


def _parsers(words: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """A command, and those below it."""
    yield words, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _parsers(f"{words} {name}", below)


def api_page() -> str:
    """All names of `import vta`, from their docstrings."""
    import vta

    lines = ["# Names of the package", "", "What `import vta` offers. [From Python](python.md) shows them at work.", ""]
    for name in vta.__all__:
        if name in vta._HOMES:
            lines += [f"::: {_definition(name)}", ""]
    return "\n".join(lines)


def _definition(name: str) -> str:
    """Where a name is defined."""
    import vta

    value = getattr(vta, name)
    return f"{value.__module__}.{value.__qualname__}"
