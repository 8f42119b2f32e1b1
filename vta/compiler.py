"""From a model to a compiled module: import, quantise, lower, partition, pack, generate code."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.choose import choose_schedule
from vta.codegen.max_pool import choose_pool_tile
from vta.codegen.region import compile_operators, flattened
from vta.codegen.region_program import CompiledModule, OperatorRecord, Placement, RegionProgram, TensorBinding
from vta.codegen.schedule import Schedule
from vta.codegen.workload import MaxPool, Tensor, TileOperator
from vta.config import HardwareConfig
from vta.errors import CompileError
from vta.ir.graph import Graph, Node
from vta.isa.verify import require_verified
from vta.passes.chains import Chain, view_source
from vta.passes.partition import Partition, RegionNodes, partition
from vta.passes.selection import layers_between
from vta.passes.to_blocks import operator_of, packed_tensor

__all__ = ["compile_graph", "compile_model"]

_LOG = logging.getLogger(__name__)
