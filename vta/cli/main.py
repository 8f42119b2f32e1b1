"""Entry point of the `vta` command: parses arguments, runs a sub-command, turns errors into messages and exit statuses."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from vta.cli.file_names import check_outputs
from vta.cli.options import HelpFormatter, add_debug
from vta.cli.terminal.interrupt import EXIT_INTERRUPTED, interruptible
from vta.cli.terminal.streams import STANDARD_OUTPUT, silence_output, standard_streams
from vta.errors import CompilerFaultWarning, UsageError, VTAError, WriteError
from vta.support.shorten import printable

__all__ = ["COMMANDS", "build_parser", "main", "module_of", "whole_parser"]

EXIT_ERROR = 1
EXIT_USAGE = 2

_NO_ROOM = "failed to map segment"
"""What the system's loader says of a library that memory has no room for."""
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

COMMANDS = {
    "demo": "the whole flow on handwritten digits, in a few seconds",
    "compile": "quantise and compile a network",
    "run": "run a compiled network on a device",
    "eval": "accuracy on labelled samples: float, quantised, on a device",
    "explain": "where the cycles of a compiled network go, and what would help",
    "diff": "where two runs of a network first differ, and what made it",
    "tune": "search schedules for a network's operators",
    "records": "pick, merge and check tuning records",
    "sweep": "compare hardware configs on networks and workloads",
    "report": "a page to look at: a network, a run, a tuning log, a sweep",
    "disasm": "print compiled programs as assembly text",
    "config": "check and show hardware configs",
    "operators": "list the operators, and when they run on the accelerator",
    "rtl": "the accelerator as hardware: Verilog, synthesis, simulation",
    "runtime": "the program that runs compiled networks without Python",
    "boards": "boards, and bitstreams for them",
    "bitstream": "bitstreams from a config, built with open tools",
    "host": "how fast the processor of the host part is",
    "gpu": "GPUs in the place of the host, and what they need",
    "rpc": "devices on other machines: trackers and servers",
    "doctor": "what is optional: what is installed, and how to install the rest",
    "completion": "what a shell needs to complete commands and options",
}
"""What each command is for; its module, see `module_of`, adds its options, and is imported when it is asked for."""

_FOLDERS = {
    "hardware": ("bitstream", "boards", "config", "operators", "rtl"),
    "machines": ("completion", "doctor", "gpu", "host", "rpc", "runtime"),
}
"""Commands whose modules are in a folder of `vta.cli.commands`."""


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
    """Says in one line of bounded length what is wrong with an argument, and in another where help is."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: error: {printable(message, _LONGEST_COMPLAINT)}\nsee '{self.prog} --help'\n")


class _Unasked:
    """The parser of a command that was not asked for, which is made if it is needed after all: there are twenty."""

    def __init__(self, **given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        made = _Parser(**self._given)
        vars(self).update(vars(made))
        self.__class__ = _Parser  # type: ignore[assignment]
        return getattr(self, name)


def module_of(command: str) -> str:
    """The name of the module of a command."""
    folder = next((f"{folder}." for folder, names in _FOLDERS.items() if command in names), "")
    return f"vta.cli.commands.{folder}{command}"


def build_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser that can parse `arguments`; parsed options hold the command to run as `run`.

    Of the commands, only the one that is asked for has its options.
    """
    return _parser_with([argument for argument in arguments if not argument.startswith("-")][:1])


def whole_parser() -> argparse.ArgumentParser:
    """Return a parser whose commands all have their options."""
    return _parser_with(COMMANDS)


def _parser_with(asked: Container[str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="vta", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=HelpFormatter)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    add_debug(parser)
    kinds: dict[bool, Any] = {False: _Unasked, True: _Parser}
    made: Any = lambda **given: kinds[given.get("add_help", True)](**given)  # noqa: E731 - it is handed on
    commands = parser.add_subparsers(
        title="commands",
        metavar="COMMAND",
        dest="command",
        required=True,
        parser_class=made,
    )
    for name, summary in COMMANDS.items():
        if name in asked:
            import_module(module_of(name)).register(commands, summary)
        else:
            commands.add_parser(name, help=summary, add_help=False)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (default: those of the process) and return its exit status."""
    with standard_streams():
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    options = argparse.Namespace(command="", debug=False)
    try:
        try:
            arguments = sys.argv[1:] if arguments is None else arguments
            options = _parsed(arguments)
            with interruptible(), _faults_in_one_line():
                check_outputs(options)
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
            import traceback

            traceback.print_exc()
        if isinstance(error, WriteError) and error.filename == STANDARD_OUTPUT:
            silence_output()
        print(f"vta {options.command}".rstrip() + f": {_message(error)}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_ERROR
    return 0


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = build_parser(arguments)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.prog = f"{parser.prog} {options.command}"
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


@contextmanager
def _faults_in_one_line() -> Iterator[None]:
    """Print faults of the compiler as what they are for a user, rather than with a line of the source."""
    import warnings

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
        from vta.cli.flags import with_flags

        return f"error: {with_flags(error)}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"error: {printable(str(error.filename), _LONGEST_NAME)}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"error: out of memory: {error}" if str(error) else "error: out of memory"
    if isinstance(error, ImportError) and _NO_ROOM in str(error):
        # Of the lines that some packages print around it.
        return f"error: out of memory: {next(line for line in str(error).splitlines() if _NO_ROOM in line).strip()}"
    return f"internal error: {type(error).__name__}: {error} (run again with --debug for the traceback)"


if __name__ == "__main__":
    sys.exit(main())
