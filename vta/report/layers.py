"""What each layer cost and where it ran: the rows, and the table that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from vta.codegen.region_program import CompiledModule
