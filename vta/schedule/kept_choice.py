"""Schedules that the compiler chose by itself, kept in the cache from one compilation to the next."""

from __future__ import annotations

import json
from dataclasses import astuple, fields
from functools import cache
from pathlib import Path

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.files.cache import Arrays, code_digest, file_stamp, remembered
from vta.native import core_path
from vta.schedule.schedule import Schedule
from vta.tile.gemm_operator import GemmOperator

__all__ = ["kept_choice"]

_KEPT = "schedules"
_BY_TILES = "gemm_operator.py", "gemm_term.py", "operator.py", "step.py"
"""What a choice follows from besides the modules of this folder."""


def kept_choice(operator: GemmOperator, hw: HardwareConfig) -> Schedule:
    """What `choose_schedule` returns, from the cache where it was asked for the workload before.

    Raises `CompileError` as that does, and `Postponed` in the second half of a `SecondProcess`.
    """

    def choose() -> Arrays:
        # Many networks have none but shipped schedules, and those that were chosen before.
        from vta.schedule.choose import choose_schedule

        return {_KEPT: np.array(astuple(choose_schedule(operator, hw)), np.int64)}

    key = b"\0".join([_code(), _config(hw), repr(operator.workload_key).encode()])
    values = remembered(_KEPT, key, choose)[_KEPT].tolist()
    given = zip(fields(Schedule), values, strict=True)
    return Schedule(**{field.name: bool(value) if field.type == "bool" else value for field, value in given})


@cache
def _config(hw: HardwareConfig) -> bytes:
    return json.dumps(hw.to_json()).encode()


@cache
def _code() -> bytes:
    folder = Path(__file__).parent
    tiles = folder.parent / "tile"
    return code_digest(*sorted(folder.glob("*.py")), *(tiles / name for name in _BY_TILES)) + file_stamp(core_path())
