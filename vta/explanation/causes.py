"""Why a cycle of the compute unit is not one of a full product: the causes, in the order in which reports name them."""

from __future__ import annotations

from enum import Enum

__all__ = ["Cause"]


class Cause(Enum):
    """One reason for which a cycle is lost; `text` says what it means."""

    CHANNEL_PADDING = "channel_padding"
    DEPTHWISE = "depthwise"
    ZERO_PADDING = "zero_padding"
    WIDE_VALUES = "wide_values"
    MOVES = "moves"
    STARTS = "starts"
    REQUANTIZATION = "requantization"
    CLIPS = "clips"
    POOLING = "pooling"
    UOP_LOADS = "uop_loads"
    CONSTANT_LOADS = "constant_loads"
    BUS_WIDTH = "bus_width"
    MEMORY_LATENCY = "memory_latency"
    TOKENS = "tokens"
    INSTRUCTION_FETCH = "instruction_fetch"
    ISSUE = "issue"
    FILL = "fill"
    DRAIN = "drain"

    @property
    def text(self) -> str:
        """What the cycles went into."""
        return _TEXTS[self]


_TEXTS = {
    Cause.CHANNEL_PADDING: "products with blocks that channels do not fill",
    Cause.DEPTHWISE: "products of depthwise and grouped convolutions: most of a block of weights is zero",
    Cause.ZERO_PADDING: "products with zeros: those around an image, and blocks of zero weights",
    Cause.WIDE_VALUES: "further products of weights and factors that do not fit 8 bits",
    Cause.MOVES: "products that only bring a tensor into the accumulator: residuals, pooling, copies",
    Cause.STARTS: "resets of accumulator rows before products are summed",
    Cause.REQUANTIZATION: "passes that scale sums to int8: additions, products, shifts, and REQUANTIZE",
    Cause.CLIPS: "minimum and maximum of what has been scaled: activations and saturation",
    Cause.POOLING: "passes of operators without products: maximum pooling, upsampling, extremes, softmax, norms",
    Cause.UOP_LOADS: "the compute unit loads micro-ops, and computes nothing",
    Cause.CONSTANT_LOADS: "the compute unit loads biases, factors or tables, and computes nothing",
    Cause.BUS_WIDTH: "waits while the load or the store unit moves data in every cycle",
    Cause.MEMORY_LATENCY: "waits while the load or the store unit itself waits for memory",
    Cause.TOKENS: "waits for a token while the unit that gives it waits for another, or takes an instruction",
    Cause.INSTRUCTION_FETCH: "waits for an instruction that has not been fetched",
    Cause.ISSUE: "cycles in which an instruction is only taken, and instructions that do nothing",
    Cause.FILL: "waits before the first micro-op of a region: its instructions and its first tile have to be there",
    Cause.DRAIN: "what follows the last micro-op of a region: the pipeline empties, and the last tile is stored",
}
