"""Writes docs/my-layer-stays-on-the-host.md: why operators stay on the host, and the options that change it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vta.cli.flags import as_options
from vta.report.remedies import OF_RULES, OTHERS, Remedy
from vta.report.settings import with_settings

__all__ = ["host_page"]


def host_page() -> str:
    """Return docs/my-layer-stays-on-the-host.md."""
    return _PAGE.format(rules=_sections(OF_RULES), others=_sections(OTHERS))


def _sections(remedies: Iterable[Remedy]) -> str:
    return _linked("\n\n".join(f"### {_title(it.reason)}\n\n{_said(it.cause)}\n\n*What to do:* {_do(it)}" for it in remedies))


def _said(text: str) -> str:
    return with_settings(text, as_options)


def _linked(text: str) -> str:
    """Names of other documents as links."""
    return re.sub(r"([a-z-]+\.md)", r"[\1](\1)", text)


def _title(reason: str) -> str:
    return reason[0].upper() + reason[1:]


def _do(remedy: Remedy) -> str:
    return f"{_said(remedy.remedy)}." if remedy.remedy else "nothing; it is right there."


_PAGE = """\
# My layer stays on the host

Written by `python -m vta.cli.host_page`: edit `vta/report/remedies.py`, not this file.

`vta compile` prints for every operator where it runs, and why. Find the words that it printed below. `vta run --device cycle`
shows what each layer costs, on the accelerator and on the host, most expensive first, and says what to do about the worst:
begin there, as most of what stays on the host costs nothing that matters.

## Conditions that a layer must meet

{rules}

## Everything else

{others}
"""

if __name__ == "__main__":
    print(host_page(), end="")
