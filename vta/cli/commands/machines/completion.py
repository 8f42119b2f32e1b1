"""`vta completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from vta.cli.options import HelpFormatter, add_debug, existing_file, log_file, model_name, output_file, picture_file

__all__ = ["register"]

SHELLS = ("bash", "zsh", "fish")
_PATHS = (existing_file, log_file, model_name, output_file, picture_file, Path)
"""Types of arguments that are names of files."""

_DESCRIPTION = """\
Print a script that lets a shell complete the commands of vta, their options and names of files. Needs the extra 'completion',
once: the script does without.
"""

_EXAMPLES = """\
examples:
  vta completion bash > ~/.local/share/bash-completion/completions/vta
  vta completion zsh > ~/.zfunc/_vta                 with 'fpath+=~/.zfunc' before 'compinit' in .zshrc
  vta completion fish > ~/.config/fish/completions/vta.fish
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "completion", help=summary, description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=HelpFormatter
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    add_debug(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from vta.cli.main import whole_parser
    from vta.errors import UsageError

    try:
        import shtab
    except ImportError:
        raise UsageError("completion needs the package shtab: pip install 'vta[completion]'") from None
    parser = whole_parser()
    for action in _actions(parser):
        if action.type in _PATHS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, options.shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Those of a parser, and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
        else:
            yield action
