"""Synthesis of a few gates in the place of the core."""

import pytest

from vta.errors import DeviceError
from vta.hardware.synthesis.core import Synthesis, synthesize
from vta.hardware.synthesis.resources import FAMILIES, Resources
from vta.hardware.synthesis.yosys import find_yosys

CORE = r"""
module vta(input clk, input [7:0] a, input [7:0] b, input [9:0] row, output [17:0] sum, output reg [31:0] word);
  wire [15:0] product;
  wire [15:0] unused;
  \vta.compute  compute(clk, a, b, sum);
  reg [31:0] memory [1023:0];
  always @(posedge clk) begin
    if (a[0]) memory[row] <= {4{b}};
    word <= memory[row];
  end
endmodule
module \vta.compute (input clk, input [7:0] a, input [7:0] b, output reg [17:0] sum);
  wire [15:0] product;
  \vta.compute.gemm  gemm(clk, a, b, product);
  always @(posedge clk) sum <= sum + product;
endmodule
module \vta.compute.gemm (input clk, input signed [7:0] a, input signed [7:0] b, output reg signed [15:0] product);
  always @(posedge clk) product <= a * b;
endmodule
"""
LATCH = "module vta(input enable, input d, output reg q); always @* if (enable) q = d; endmodule"
LOOP = "module vta(input a, output b); wire c; assign b = c ^ a; assign c = ~b; endmodule"


@pytest.fixture(autouse=True, scope="module")
def yosys():
    try:
        find_yosys()
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("family", FAMILIES)
def test_units_are_told_apart(family):
    result = synthesize(CORE, family)
    assert result.multipliers == 1
    assert result.units["gemm"].dsp == 1
    assert result.units["compute"].ff == 18
    assert result.units["control"].bram >= 1
    assert result.total.dsp == 1
    assert result.total.bram == result.units["control"].bram


def test_modules_that_are_the_same_are_counted_as_often_as_they_are_there():
    """Only within a unit."""
    lane = "module \\NAME (input [7:0] a, output [7:0] b);\n  assign b = ~a & {8{a[0]}};\nendmodule\n"
    names = [f"vta.{name}" for name in ("compute.alu_0", "compute.alu_1", "load.lane")]
    wires = "".join(f"  wire [7:0] w{index};\n" for index in range(2))
    chain = [("a", "w0"), ("w0", "w1"), ("w1", "b")]
    uses = "".join(
        f"  \\{name}  lane_{index} (\n    .a({source}),\n    .b({sink})\n  );\n"
        for index, (name, (source, sink)) in enumerate(zip(names, chain, strict=True))
    )
    top = f"module vta(input [7:0] a, output [7:0] b);\n{wires}{uses}endmodule\n"
    units = synthesize(top + "".join(lane.replace("NAME", name) for name in names), "xilinx").units
    assert units["alu"].lut == 2 * units["load"].lut > 0


@pytest.mark.parametrize("text", [LATCH, LOOP], ids=["latch", "loop"])
def test_unsound_cores_are_refused(text):
    with pytest.raises(DeviceError, match="the core has latches or combinational loops:\n"):
        synthesize(text, "xilinx")


def test_sums():
    units = {"load": Resources(lut=1, ff=2), "gemm": Resources(lut=3, dsp=1, bram=0.5)}
    assert Synthesis("ecp5", units, 1, 0.5).total == Resources(4, 2, 1, 0.5)
