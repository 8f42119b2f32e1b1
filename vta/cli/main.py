"""Entry point of the `vta` command: parses arguments, runs a sub-command, turns errors into messages and exit statuses."""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from vta.cli import boards as boards_command
from vta.cli import compile as compile_command
from vta.cli import config as config_command
from vta.cli import demo as demo_command
from vta.cli import disasm as disasm_command
from vta.cli import eval as eval_command
from vta.cli import operators as operators_command
from vta.cli import records as records_command
from vta.cli import rpc as rpc_command
from vta.cli import rtl as rtl_command
from vta.cli import run as run_command
from vta.cli import sweep as sweep_command
from vta.cli import tune as tune_command
from vta.cli.flags import with_flags
from vta.cli.interrupt import EXIT_INTERRUPTED, interruptible
from vta.cli.options import HelpFormatter, add_debug
from vta.cli.streams import STANDARD_OUTPUT, silence_output, standard_streams
from vta.errors import CompilerFaultWarning, UsageError, VTAError, WriteError
from vta.support.shorten import printable

__all__ = ["build_parser", "main"]

EXIT_ERROR = 1
EXIT_USAGE = 2

_LONGEST_NAME = 300
_LONGEST_COMPLAINT = 1000

_DESCRIPTION = """\
Quantise a trained network, compile it for the VTA accelerator, and run it bit-exactly on a simulator.

A first session:
  vta demo                                  the whole flow on handwritten digits, in a few seconds
  vta config show sim                       the hardware that everything is compiled for
  vta compile net.onnx -o net.vta --config sim --calibration images.npz
  vta run net.vta --device sim --check      run it, compare every layer with the reference
  vta eval net.onnx --config sim --device sim --data labelled.npz
"""

_EPILOG = """\
'vta COMMAND --help' describes a command and gives examples. With --json a command prints one JSON object on standard
output and everything else on standard error. Exit status: 0 success, 2 wrong usage, 1 any other error.
"""

_COMMANDS = (
    demo_command,
    compile_command,
    run_command,
    eval_command,
    tune_command,
    records_command,
    sweep_command,
    disasm_command,
    config_command,
    operators_command,
    rtl_command,
    boards_command,
    rpc_command,
)


class _Version(argparse.Action):
    """Prints the version, looking it up only when asked."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"vta {version('vta')}")
        except PackageNotFoundError:
            print("vta, from a source tree that is not installed")
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """Says in one line of bounded length what is wrong with an argument."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message, _LONGEST_COMPLAINT))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line; parsed options hold the command to run as `run`."""
    parser = _Parser(prog="vta", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=HelpFormatter)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    add_debug(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for command in _COMMANDS:
        command.register(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (default: those of the process) and return its exit status."""
    with standard_streams():
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    options = argparse.Namespace(command="", debug=False)
    try:
        try:
            options = build_parser().parse_args(arguments)
            with interruptible(), _faults_in_one_line():
                options.run(options)
        finally:
            sys.stdout.flush()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_ERROR
    except KeyboardInterrupt:
        print("vta: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        silence_output()
        return EXIT_ERROR
    except Exception as error:
        if getattr(options, "debug", False):
            traceback.print_exc()
        if isinstance(error, WriteError) and error.filename == STANDARD_OUTPUT:
            silence_output()
        print(f"vta {options.command}".rstrip() + f": {_message(error)}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_ERROR
    return 0


@contextmanager
def _faults_in_one_line() -> Iterator[None]:
    """Print faults of the compiler as what they are for a user, rather than with a line of the source."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, CompilerFaultWarning):
            print(f"vta: warning: {message}", file=sys.stderr)
        else:
            shown(message, category, *place, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown


def _message(error: Exception) -> str:
    if isinstance(error, VTAError):
        return f"error: {with_flags(error)}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"error: {printable(str(error.filename), _LONGEST_NAME)}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"error: out of memory: {error}" if str(error) else "error: out of memory"
    return f"internal error: {type(error).__name__}: {error} (run again with --debug for the traceback)"


if __name__ == "__main__":
    sys.exit(main())
