"""What to do about a layer that stays on the host, by the rule that keeps it there; docs/my-layer-stays-on-the-host.md."""

from __future__ import annotations

from vta.partition.fused import support_rules
from vta.partition.fused.support_rules import Rule
from vta.support.dataclass import dataclass

__all__ = ["OF_RULES", "OTHERS", "REMEDIES", "Remedy", "remedy_of"]


@dataclass(frozen=True)
class Remedy:
    """What one rule means for a user."""

    rule: str
    """Identity of the rule: for one of `support_rules`, the name of its function."""
    reason: str
    """What reports print, with ``...`` for names that differ."""
    cause: str
    """What in a network leads there."""
    remedy: str
    """What to do, as a clause that begins with a verb or a setting (`vta.report.settings`), and has no full stop; "" if there is
    nothing."""


def _of(rule: Rule, cause: str, remedy: str) -> Remedy:
    return Remedy(rule.name, rule.text, cause, remedy)


OF_RULES = (
    _of(
        support_rules.values_are_images_or_vectors,
        "A sequence, a volume, or a tensor that was reshaped to another rank.",
        "give the network images (N, C, H, W) or vectors (N, C); write a one-dimensional convolution as one of height 1",
    ),
    _of(
        support_rules.operands_have_the_result_shape,
        "An addition, product, minimum or maximum of two tensors of different shapes, neither of which is a value for "
        "each sample "
        "and channel, as the gate of a squeeze-and-excite block is.",
        "compute operands of one shape, or one of shape (N, C, 1, 1)",
    ),
    _of(
        support_rules.constants_vary_by_channel_only,
        "A constant with a value for each pixel or each sample, such as a mean image that is taken off.",
        "take the mean off for each channel, in the network or before it",
    ),
    _of(
        support_rules.target_multiplies,
        "The published bitstreams have no multiplication in the ALU. The exact results of a network that came quantised need "
        "one in each layer, and so do hard swish and a product of two tensors.",
        "{requantize='shift'} rescales by shifts, so that the accelerator does it; results are no longer those of the source "
        "framework byte for byte. Or build our own core, which multiplies, for the board (design `core` in boards.md)",
    ),
    _of(
        support_rules.config_requantizes,
        "The network was lowered for hardware that requantizes by itself, and this config lacks the unit, or its tables.",
        "compile the network for this config again, or set `REQUANTIZE_UNIT` and `TABLE_UNIT` (isa-extensions.md)",
    ),
    _of(
        support_rules.rescaling_is_by_constants,
        "An integer graph of your own with a rescale whose parameters are computed, or that is narrow before the end of a layer.",
        "make the parameters constants, and let the layer end with the narrow one",
    ),
    _of(
        support_rules.shift_amounts_are_legal,
        "An integer graph of your own that shifts by a tensor, by less than 0 or by more than 31.",
        "shift by constants from 0 to 31",
    ),
    _of(
        support_rules.operand_factors_are_small,
        "Two tensors are added whose scales are very different.",
        "calibrate with data like that of the task; {calibration='percentile'} bounds outliers",
    ),
    _of(
        support_rules.bounds_fit_the_accumulator,
        "The config has 16-bit accumulators, and a clip asks for more.",
        "use a config with 32-bit accumulators (LOG_ACC_WIDTH 5)",
    ),
    _of(
        support_rules.left_shift_by_channel_works,
        "Each channel has its own power of two, and some are above 1.",
        "{per_channel=False} gives a layer one scale; or choose a target whose ALU shifts by a register",
    ),
    _of(
        support_rules.stored_values_are_int8_or_int32,
        "The host reads a value in the middle of a layer, and the config has 16-bit accumulators.",
        "use a config with 32-bit accumulators (LOG_ACC_WIDTH 5)",
    ),
    _of(
        support_rules.batch_sizes_agree,
        "A reshape makes samples of what were pixels or channels, or a concatenation joins samples.",
        "keep the first dimension the number of samples throughout",
    ),
    _of(
        support_rules.slices_step_forward,
        "A slice takes some samples of a batch, or goes backwards.",
        "slice channels, rows or columns, forwards",
    ),
    _of(
        support_rules.stored_tensors_are_weights,
        "A product of two tensors, as in attention, on a config that cannot do it, or in an integer graph of your own.",
        "use a config with BATCH 1 and 32-bit accumulators",
    ),
    _of(
        support_rules.products_of_tensors_end_alike,
        "What came quantised ends a product of two tensors by multiplications, and the target's ALU has no MUL.",
        "use a config that multiplies; or quantise the float network here, whose products end by shifts then",
    ),
)
"""Of every support rule, in the order in which they are checked."""

OTHERS = (
    Remedy(
        "left_in_float",
        "left in float by the quantiser, as the first convolution is where int8 costs much there",
        "With calibration data the quantiser measures what int8 costs in the first convolution and in the last layers before "
        "outputs, and says so; without, the first convolution of an image stays in float. {skip_layers} and "
        "{skip_dense} leave others.",
        "{skip_conv_layers=()} quantises the first convolution, too; {evaluate} says what that costs in accuracy",
    ),
    Remedy(
        "computes_in_float",
        "computes in float",
        "The quantiser has no integer form for it, or left what it reads in float. While the first convolution is float, so are "
        "its ReLU and max-pooling.",
        "{skip_conv_layers=()} if it lies behind the first convolution. A softmax at the end costs little: leave it",
    ),
    Remedy(
        "computed_mask",
        "computes in float: what is added to its scores, or masks them, is no constant",
        "A mask of padding, or a bias of places, that is an input of the network, or is computed from one.",
        "export the network with the mask as a constant; or make a constant of the input of an ONNX model by "
        "{input_values}. It is added on the accelerator then, where the config has the "
        "requantize and table units (attention.md)",
    ),
    Remedy(
        "border_of_float",
        "border between float and integer values",
        "The values are converted where the quantised part begins and ends. Between layers, see why those beside it are in "
        "float.",
        "",
    ),
    Remedy(
        "windows",
        "no VTA template for nn.windows on ...",
        "On purpose: the host hands the windows of a first convolution over as channels, so that blocks are full.",
        "",
    ),
    Remedy(
        "tables",
        "no VTA template for qnn.lookup on ...",
        "A table of 256 values, such as sigmoid, tanh, SiLU, GELU or Mish. The accelerator computes tables of one or "
        "two straight "
        "pieces only, with 32-bit accumulators; others where the config has the table unit.",
        "set `REQUANTIZE_UNIT` and `TABLE_UNIT` for our own core (isa-extensions.md); or use ReLU, leaky ReLU, hard sigmoid or "
        "hard swish in the network",
    ),
    Remedy(
        "activation_multiplies",
        "The target's ALU has no MUL, which ... takes",
        "Hard swish takes a product, and so does a leaky ReLU with slopes on both sides of 1.",
        "use ReLU6 in the network, or build our own core, which multiplies, for the board (design `core` in boards.md)",
    ),
    Remedy(
        "softmax",
        "no VTA template for qnn.softmax on ...",
        "It takes exponentials, and products of 64 bits: more passes than the way to the host costs (attention.md).",
        "",
    ),
    Remedy(
        "no_template",
        "no VTA template for ... on ...",
        "The accelerator has no program for this operator.",
        "look for one that does the same in supported-operators.md; a new one takes few lines (extending.md)",
    ),
    Remedy(
        "constant_weights",
        "its weights are not constant",
        "A convolution whose kernel is computed. Products of matrices of two tensors do run on VTA (attention.md).",
        "",
    ),
    Remedy(
        "used_more_than_once",
        "... is used more than once",
        "An int32 value in the middle of a layer is also an output of the network, or read by two layers.",
        "make the quantised result the output; in an integer graph of your own, requantise before the branch",
    ),
    Remedy(
        "operand_kind",
        "operand ... is neither a constant nor an int8 tensor",
        "A step joins two int32 values that different layers compute.",
        "quantise one of the two first, as the quantiser and TFLite do",
    ),
    Remedy(
        "other_branch",
        "the branch at ... starts from a value of another fused operator",
        "A step joins an int32 value that another layer computes.",
        "quantise one of the two first, as the quantiser and TFLite do",
    ),
    Remedy(
        "cannot_start",
        "its int32 value comes from ..., which VTA cannot start from",
        "The integer steps follow an operator that the host computes.",
        "see why that operator is on the host",
    ),
    Remedy(
        "needs_a_product",
        "an int32 result needs a convolution, dense or pooling to start from",
        "An integer step on its own, whose int32 result something else reads.",
        "cast the result to int8",
    ),
    Remedy(
        "does_not_end",
        "its int32 result does not lead to one that VTA can store",
        "What follows this integer step is on the host.",
        "see why the next operator is on the host",
    ),
    Remedy(
        "feeds_the_host",
        "feeds a host operator",
        "It only prepares a value for the host.",
        "see why the next operator is on the host",
    ),
    Remedy(
        "moved_before",
        "joined, cut or padded on the host, before VTA reads it",
        "The input of the network, or a value of the host, is copied into another shape. As the host writes it anyway, it "
        "does that too.",
        "",
    ),
    Remedy(
        "padded_before",
        "padded on the host, before VTA reads it",
        "The input of the network, or a value of the host, gets a border. As the host writes it anyway, it does that too.",
        "",
    ),
    Remedy(
        "does_not_pay",
        "too little to pay for the transfer: ...",
        "Copying to the accelerator and back takes longer than computing on the host, by the estimate in partition.md. "
        "The region "
        "with the most products stays in any case.",
        "{least_gain=0} keeps all on the accelerator; better, bring a layer beside it there, so that the two share a region",
    ),
    Remedy(
        "outside_of_region",
        "outside the region between start and stop",
        "You marked a region by hand.",
        "leave out {start} and {stop}, or move them",
    ),
    Remedy(
        "host_first",
        "taken by ..., which comes first among the targets",
        "You listed the host before the accelerator.",
        "{targets='vta, llvm'}",
    ),
    Remedy(
        "another_target",
        "given to target ... as ..., for which the host computes it",
        "A table of patterns of your own gave it to another target.",
        "see patterns.md",
    ),
    Remedy(
        "compiler_fault",
        "fault of the compiler, please report it: ...",
        "The proof of a program failed. The network runs, with the same results.",
        "please report it, with the network or its shapes",
    ),
    Remedy(
        "does_not_fit",
        "what does not fit",
        "No tile of the layer fits the buffers or the fields of an instruction; the reason says which limit breaks.",
        "use a config with larger buffers; {configs} lists what it has",
    ),
)
"""All else."""

REMEDIES: tuple[Remedy, ...] = (*OF_RULES, *OTHERS)
"""Of all that keeps an operator on the host."""


_UNKNOWN = Remedy("", "not known", "A file of an older version names no rule, or one that is no more.", "")


def remedy_of(rule: str) -> Remedy:
    """The remedy of a rule, by its identity; one that is no more, or "" of files of before rules were kept, has no advice."""
    return next((remedy for remedy in REMEDIES if remedy.rule == rule), _UNKNOWN)
