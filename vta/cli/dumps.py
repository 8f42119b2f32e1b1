"""`vta compile --dump-after`: the network as text after passes of the compiler."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vta.cli.terminal.output import Output
    from vta.compiler.pipeline import Pass
    from vta.compiler.state import State

__all__ = ["add_dumps", "dumping", "list_passes"]


def add_dumps(parser: argparse.ArgumentParser, model: argparse.Action) -> None:
    """Add the options that show what passes give; to list them needs no `model`."""
    group = parser.add_argument_group("passes")
    group.add_argument(
        "--list-passes", action=_ListPasses, nargs=0, default=False, model=model, help="print the passes in order, and end"
    )
    group.add_argument(
        "--dump-after",
        action="append",
        default=[],
        metavar="PASS",
        help="print the network as this pass leaves it; may be repeated; also a level (graph, integer, partition, tile, isa), "
        "for its last pass, or all",
    )
    group.add_argument(
        "--dump-dir", type=Path, metavar="DIR", help="write these texts to files in this folder instead of to standard output"
    )


@contextmanager
def dumping(options: argparse.Namespace) -> Iterator[Callable[[Pass, State], None] | None]:
    """Give what watches the passes that `options` name; their texts are out when the block ends, also where it raises."""
    from vta.errors import UsageError

    if not options.dump_after:
        if options.dump_dir is not None:
            raise UsageError("--dump-dir names a folder for the texts of --dump-after, which is missing")
        yield None
        return
    if options.json and options.dump_dir is None:
        raise UsageError("--dump-after prints to standard output, and so does --json; --dump-dir DIR writes to files")
    from vta.compiler.pipeline import dump, passes_to_dump

    wanted = passes_to_dump(options.dump_after)
    # Passes that run again replace what they gave before.
    texts: dict[str, str] = {}

    def watch(step: Pass, state: State) -> None:
        if step.name in wanted:
            texts[step.name] = dump(state, step.level)

    try:
        yield watch
    finally:
        _put_out(texts, options.dump_dir)


def _put_out(texts: dict[str, str], folder: Path | None) -> None:
    from vta.compiler.pipeline import PASSES
    from vta.files.atomic_file import make_folder, write_whole

    if folder is not None:
        make_folder(folder)
    for number, step in enumerate(PASSES):
        if step.name not in texts:
            continue
        if folder is None:
            print(f"; after {step.name}\n{texts[step.name]}")
        else:
            write_whole(folder / f"{number:02}-{step.name}.txt", texts[step.name], f"what {step.name} gave")


def list_passes(output: Output) -> dict[str, Any]:
    """Print the passes in order; returns them for scripts."""
    from vta.compiler.pipeline import PASSES

    width = max(len(step.name) for step in PASSES)
    for step in PASSES:
        output.line(f"{step.name:{width}}  {step.level:9}  {step.summary}")
    return {"passes": [{"pass": step.name, "level": step.level, "summary": step.summary} for step in PASSES]}


class _ListPasses(argparse.Action):
    """Sets its flag, and lets the command do without `model`; options behind it, such as --json, are parsed first."""

    def __init__(self, *, model: argparse.Action, **given: Any) -> None:
        super().__init__(**given)
        self._model = model

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, True)
        self._model.required = False
