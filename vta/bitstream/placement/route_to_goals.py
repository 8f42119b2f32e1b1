"""Routes a placed design for clocks that are faster than wanted, as far as its places allow it.

nextpnr's router heeds how critical a connection is in relation to the clock's period, and takes long paths up again (its option
`--tmg-ripup`) until there is none that is longer. Told the clock that a board needs, it leaves detours of half the FPGA; told
one that cannot be reached, it never ends. So it gets goals from the estimated lengths of paths; where it does not reach them in
so many rounds, it gets what is wanted; where that itself was out of reach, what is estimated. Last it takes nothing up again.

The file stands alone: a build's folder has a copy of it. Called as a program, it runs the router, up to three times.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["goals_of", "main"]

_FASTER = 1.12
"""A goal in relation to what is estimated: estimates are longer by a quarter than wires without detours."""
_MOST, _OTHERS, _MARGIN = 2.0, 1.1, 1.02
"""Goals in relation to what is wanted: at most in the first run, for the clock that is slowest in relation to it, and for others;
and in the second run."""
_ROUNDS = 120
"""Rounds after which a run with goals is given up; those that end take a third of it."""
_TAKE_UP = "--tmg-ripup"


def goals_of(clocks: dict[str, dict[str, float]]) -> list[dict[str, float]]:
    """The clocks for each run, in MHz by their nets: of `wanted_mhz` and `estimate_mhz` of each clock."""
    shares = {net: _FASTER * clock["estimate_mhz"] / clock["wanted_mhz"] for net, clock in clocks.items()}
    slowest = min(shares.values(), default=0.0)
    fast = {
        net: clock["wanted_mhz"] * max(_MARGIN, min(shares[net], _MOST if shares[net] == slowest else _OTHERS))
        for net, clock in clocks.items()
    }
    # A clock that had to be faster than estimated, and was not, is to miss what is wanted by as little as it can.
    calm = {net: clock["wanted_mhz"] * min(_MARGIN, shares[net]) for net, clock in clocks.items()}
    return [fast, calm] if calm != fast else [fast]


def _lines(goals: dict[str, float]) -> str:
    return "".join(f'FREQUENCY NET "{net}" {mhz:.3f} MHZ;\n' for net, mhz in goals.items())


def _runs(clocks: dict[str, dict[str, float]], places: Path, command: list[str]) -> Iterator[tuple[list[str], int | None]]:
    """Commands and the rounds after which each is given up."""
    for goals in goals_of(clocks):
        places.write_text(_lines(goals), encoding="utf-8")
        yield [*command, "--lpf", str(places), _TAKE_UP], _ROUNDS
    yield [*command, "--lpf", str(places)], None


def _run(command: list[str], rounds: int | None) -> int | None:
    """The command's exit status, or None if it was given up; what it prints is printed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        assert process.stdout is not None, "it is a pipe"
        try:
            for line in process.stdout:
                sys.stdout.write(line)
                if rounds is not None and f" iter={rounds} " in line:
                    print(f"the goals were not reached in {rounds} rounds", flush=True)
                    return None
        finally:
            if process.poll() is None and (rounds is not None or sys.exc_info()[0] is not None):
                process.kill()
        return process.wait()


def _with_wanted(report: dict[str, Any], clocks: dict[str, dict[str, float]]) -> dict[str, Any]:
    for net, found in report["fmax"].items():
        if net in clocks:
            found["constraint"] = clocks[net]["wanted_mhz"]
    return report


def main(arguments: list[str]) -> int:
    """Run a command: arguments CLOCKS PLACES REPORT COMMAND...; returns its exit status.

    CLOCKS is what is known of the clocks, in JSON. PLACES is a file that is written and removed again, REPORT the file that the
    command writes: it then has the clocks that are wanted.
    """
    known, named, reported, *command = arguments
    clocks = json.loads(Path(known).read_text(encoding="utf-8"))
    places, report = Path(named), Path(reported)
    try:
        for run, rounds in _runs(clocks, places, command):
            status = _run(run, rounds)
            if status is not None:
                break
    finally:
        places.unlink(missing_ok=True)
    if status:
        return status
    values = _with_wanted(json.loads(report.read_text(encoding="utf-8")), clocks)
    report.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
