"""The netlist of an ECP5 does what its source does."""

import re
import shutil
import subprocess

import pytest

from vta.errors import DeviceError
from vta.hardware.netlist import ecp5_netlist
from vta.hardware.synthesis.yosys import find_yosys

SOURCE = """
module vta(
  input clk, input reset, input [3:0] enable, input [1:0] bytes, input [9:0] a, input [9:0] b, input [35:0] data,
  output reg [35:0] simple, output reg [17:0] left, output reg [17:0] right, output reg [17:0] by_bytes, output reg [8:0] narrow,
  output reg [35:0] product, output reg signed [35:0] signed_product, output reg [15:0] enabled_product,
  output [19:0] read_factor, output [15:0] sum
);
  reg [35:0] wide [0:511];
  always @(posedge clk) begin
    if (enable[0]) wide[a[8:0]] <= data;
    if (reset) simple <= 0; else if (enable[1]) simple <= wide[b[8:0]];
  end
  reg [17:0] shared [0:1023];
  always @(posedge clk) if (enable[2]) begin
    if (enable[0]) shared[a] <= data[17:0];
    left <= shared[a];
  end
  always @(posedge clk) if (enable[3]) right <= shared[b];
  reg [17:0] masked [0:1023];
  always @(posedge clk) begin
    if (bytes[0]) masked[a][8:0] <= data[8:0];
    if (bytes[1]) masked[a][17:9] <= data[17:9];
    by_bytes <= masked[b];
  end
  reg [8:0] through [0:2047];
  always @(posedge clk) begin
    if (enable[1]) through[{1'b0, a}] <= data[8:0];
    narrow <= enable[1] && a == b ? data[8:0] : through[{1'b0, b}];
  end
  always @(posedge clk) begin
    product <= data[17:0] * data[35:18];
    signed_product <= $signed(data[17:0]) * $signed(data[35:18]);
  end
  reg signed [7:0] first, second, third, fourth;
  reg signed [15:0] inner;
  always @(posedge clk) begin
    if (reset) {first, second} <= 0; else if (enable[0]) {first, second} <= data[15:0];
    if (reset) inner <= 0; else if (enable[1]) inner <= first * second;
    enabled_product <= inner + 16'd3;
    {third, fourth} <= data[31:16];
  end
  assign read_factor = third * fourth + third;
  reg [15:0] little [0:15];
  reg [15:0] total = 16'd7;
  always @(posedge clk) begin
    if (enable[3]) little[a[3:0]] <= data[15:0];
    total <= reset ? 16'd7 : total + little[b[3:0]];
  end
  assign sum = total;
endmodule
"""
OUTPUTS = {"simple": 36, "left": 18, "right": 18, "by_bytes": 18, "narrow": 9, "product": 36, "signed_product": 36}
OUTPUTS |= {"enabled_product": 16, "read_factor": 20, "sum": 16}
INPUTS = {"clk": 1, "reset": 1, "enable": 4, "bytes": 2, "a": 10, "b": 10, "data": 36}
CYCLES = 4000


def _bench():
    inputs = "".join(f"  reg [{width - 1}:0] {name} = 0;\n" for name, width in INPUTS.items())
    wires = "".join(
        f"  wire [{width - 1}:0] {name}_{side};\n" for name, width in OUTPUTS.items() for side in ("source", "netlist")
    )
    given = ", ".join(f".{name}({name})" for name in INPUTS)
    instances = "".join(
        f"  vta_{side} {side} ({given}, {', '.join(f'.{name}({name}_{side})' for name in OUTPUTS)});\n"
        for side in ("source", "netlist")
    )
    differs = " || ".join(f"{name}_source !== {name}_netlist" for name in OUTPUTS)
    # Few addresses, so that reads meet writes; the upper ones are there to tell rows apart.
    return f"""module bench;
{inputs}{wires}{instances}  integer cycle;
  initial begin
    #1;
    for (cycle = 0; cycle < {CYCLES}; cycle = cycle + 1) begin
      reset = cycle < 4 || $urandom % 16 == 0;
      enable = cycle < 1100 ? 4'hf : $urandom;
      bytes = cycle < 1100 ? 2'h3 : $urandom;
      a = cycle < 1100 ? cycle : $urandom & 10'h303;
      b = $urandom & 10'h303;
      data = {{$urandom, $urandom}};
      #1 clk = 1;
      #1 if (cycle >= 1100 && ({differs})) begin $display("differs in cycle %0d", cycle); $finish; end
      clk = 0;
    end
    $display("equal");
    $finish;
  end
endmodule
"""


def test_the_netlist_does_what_its_source_does(tmp_path):
    """Memories of each shape, products with and without sign and with registers on either side, carry chains, first values."""
    try:
        find_yosys()
    except DeviceError as error:
        pytest.skip(str(error))
    if shutil.which("iverilog") is None:
        pytest.skip("needs Icarus Verilog: apt install iverilog")
    netlist = ecp5_netlist(SOURCE)
    assert not re.search(r"^module (?!vta\b)", netlist, re.MULTILINE)
    files = {"source.v": SOURCE.replace("module vta(", "module vta_source("), "bench.v": _bench()}
    files["netlist.v"] = re.sub(r"\bmodule vta\b", "module vta_netlist", netlist)
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["iverilog", "-g2012", "-o", "bench", *files], cwd=tmp_path, check=True)
    done = subprocess.run(["vvp", "bench"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "equal"
