"""What one operator of the tile level is, whatever its kind: the tensors that it reads and stores, in packed blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from vta.config.hardware import HardwareConfig
from vta.support.dataclass import dataclass

if TYPE_CHECKING:
    from typing import Self

    from vta.tile.gemm_operator import GemmOperator

__all__ = ["RegionOperators", "Tensor", "TileOperator"]


@dataclass(frozen=True)
class Tensor:
    """A packed int8 tensor of a region: [batch][blocks][height][width] elements."""

    name: str
    batch: int
    """Blocks of BATCH rows."""
    blocks: int
    """Blocks of BLOCK channels."""
    height: int
    width: int
    planes: int = 1
    """4 for an int32 value stored as byte planes."""
    container: Tensor | None = None
    """The tensor of which this is some blocks of channels; None: it has memory of its own."""
    first_block: int = 0
    """Where its blocks begin in the container."""

    @property
    def elements(self) -> int:
        """Elements of one plane."""
        return self.batch * self.blocks * self.height * self.width

    @property
    def memory(self) -> Tensor:
        """The tensor whose memory holds it: itself, or the container."""
        return self.container or self

    def index(self, batch: int, block: int, row: int, column: int) -> int:
        """Element index of a position in the memory that holds the tensor."""
        return ((batch * self.memory.blocks + self.first_block + block) * self.height + row) * self.width + column

    def part(self, name: str, first: int, count: int) -> Tensor:
        """Some of its blocks as a tensor: the same memory, `count` blocks from `first` on."""
        return replace(self, name=name, blocks=count, container=self.memory, first_block=self.first_block + first)

    def flattened(self) -> Tensor:
        """Its rows as one row."""
        return replace(self, height=1, width=self.height * self.width)


@dataclass(frozen=True, eq=False, kw_only=True)
class TileOperator(ABC):
    """One operator of a region, on packed tensors. Each kind is a class of its own."""

    name: str
    """The layer that it computes."""
    kind: str
    """What reports and records call its kind: ``conv2d``, ``max_pool2d``, ..."""
    output: Tensor
    macs: int = 0
    """Multiply-accumulates that the network needs here, without padding."""

    @property
    def stored(self) -> Tensor:
        """The tensor in memory: the output, with what lies around it where something does."""
        return self.output

    @property
    @abstractmethod
    def sources(self) -> tuple[Tensor, ...]:
        """The tensors that it reads, each once."""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that it reads, then the one that it stores."""
        return (*self.sources, self.stored)

    @abstractmethod
    def relocated(self, tensors: Mapping[str, Tensor]) -> Self:
        """The same operator on the tensors that `tensors` has for the names of its own."""

    @property
    @abstractmethod
    def workload_key(self) -> Hashable:
        """What decides how it is cut: its shapes and structure, but neither names nor values."""

    @property
    def computes_weights(self) -> bool:
        """Whether it multiplies by tensors that the region stores. Their memories then start at whole blocks of weights."""
        return False

    @property
    def scheduled(self) -> GemmOperator | None:
        """The operator itself if it runs by a schedule that is chosen for it; None if it cuts its work by a rule of its own."""
        return None

    @property
    def tuned(self) -> GemmOperator | None:
        """The operator itself if schedules are searched for it and recorded."""
        return None

    def remarks(self, hw: HardwareConfig) -> tuple[str, ...]:
        """How it is cut on `hw` and what it takes there, in words, if it decides that itself."""
        return ()

    @abstractmethod
    def check(self, hw: HardwareConfig) -> None:
        """Raise `CompileError` naming the limit if `hw` cannot run it, however it is cut."""


@dataclass(frozen=True, eq=False)
class RegionOperators:
    """The operators of a region in program order, and the tensors that it has in common with what is around it."""

    name: str
    operators: tuple[TileOperator, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
