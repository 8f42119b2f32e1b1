"""Units mapped one by one: their cells are those of the core mapped whole, and none is mapped twice."""

import json

import pytest

from vta.errors import DeviceError
from vta.hardware.synthesis.mapping import map_units, modules_by_unit
from vta.hardware.synthesis.resources import Resources, commands_of, resources_of
from vta.hardware.synthesis.yosys import find_yosys, run_yosys

CORE = r"""
module vta(clk, a, b, sum);
  input clk;
  input [7:0] a;
  input [7:0] b;
  output [15:0] sum;
  wire [15:0] product;
  \vta.compute.gemm  gemm (
    .clk(clk),
    .a(a),
    .b(b),
    .product(product)
  );
  \vta.store  store (
    .clk(clk),
    .given(product),
    .sum(sum)
  );
endmodule
module \vta.compute.gemm (clk, a, b, product);
  input clk;
  input signed [7:0] a;
  input signed [7:0] b;
  output signed [15:0] product;
  reg signed [15:0] product;
  always @(posedge clk) product <= a * b;
endmodule
module \vta.store (clk, given, sum);
  input clk;
  input [15:0] given;
  output [15:0] sum;
  reg [15:0] sum;
  always @(posedge clk) sum <= sum + (given ^ {given[7:0], given[15:8]});
endmodule
"""

MEMORY = r"""
module \vta.inp_memory (clk, enable, from, to, given, read);
  input clk;
  input enable;
  input [9:0] from;
  input [9:0] to;
  input [7:0] given;
  output [7:0] read;
  reg [7:0] read;
  reg [7:0] m [1023:0];
  always @(posedge clk) if (enable) m[to] <= given;
  always @(posedge clk) read <= m[from];
endmodule
"""
MEMORIES = r"""
module vta(clk, enable, from, to, given, inputs, outputs);
  input clk;
  input enable;
  input [9:0] from;
  input [9:0] to;
  input [7:0] given;
  output [7:0] inputs;
  output [7:0] outputs;
  \vta.inp_memory  inp_memory (.clk(clk), .enable(enable), .from(from), .to(to), .given(given), .read(inputs));
  \vta.out_memory  out_memory (.clk(clk), .enable(enable), .from(from), .to(to), .given(given), .read(outputs));
endmodule
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path / "cache"))


@pytest.fixture
def command():
    try:
        return find_yosys()
    except DeviceError as error:
        pytest.skip(str(error))


# UltraScale+ is mapped by the command of 7-series, with another name.
@pytest.mark.parametrize("family", ["xilinx", "ecp5", "cyclone-v"])
def test_units_add_up_to_the_whole(family, command, tmp_path):
    (tmp_path / "vta.v").write_text(CORE)
    steps = ("read_verilog -sv vta.v", *commands_of(family, "vta"), "tee -q -o whole.json stat -json")
    run_yosys(command, tmp_path, "\n".join(steps), "the whole core")
    whole = json.loads((tmp_path / "whole.json").read_text())["modules"]
    mapped = map_units(modules_by_unit(CORE), family, command, lambda message: None)
    assert set(mapped) == {"control", "gemm", "store"}
    for unit in mapped.values():
        for module, cells in unit.cells.items():
            name = f"\\{module}"
            expected = {kind.removeprefix("\\"): count for kind, count in whole[name]["num_cells_by_type"].items()}
            if family == "ecp5" and "MULT18X18D" in expected:
                assert expected.pop("TRELLIS_FF") == 16  # These are in the multiplier then.
            assert resources_of(cells, family) == resources_of(expected, family)


def test_memories_of_an_ecp5_have_no_registers_for_collisions_where_none_happen(command):
    """As in a bitstream; other memories have them."""
    core = f"{MEMORIES}{MEMORY}{MEMORY.replace('inp_', 'out_')}"
    units = map_units(modules_by_unit(core), "ecp5", command, lambda message: None)
    free, other = (resources_of(units[f"{name} memory"].cells[f"vta.{name}_memory"], "ecp5") for name in ("inp", "out"))
    assert free == Resources(bram=1)
    assert other.bram == 1
    assert other.ff >= 8


def test_what_was_mapped_is_not_mapped_again(command):
    said = []
    first = map_units(modules_by_unit(CORE), "cyclone-v", command, said.append)
    assert said == ["synthesising store, gemm, control"]
    assert map_units(modules_by_unit(CORE), "cyclone-v", command, said.append) == first
    assert len(said) == 1
    changed = CORE.replace("sum + (given", "sum - (given")
    map_units(modules_by_unit(changed), "cyclone-v", command, said.append)
    assert said[1:] == ["synthesising store"]
    # Another family is another mapping.
    map_units(modules_by_unit(CORE), "ecp5", command, said.append)
    assert len(said) == 3


def test_what_yosys_cannot_map_is_said_with_its_unit(command):
    wrong = CORE.replace("sum + (given", "sum + (unknown(given)")
    with pytest.raises(DeviceError, match=r"synthesis of .*store.* failed"):
        map_units(modules_by_unit(wrong), "ecp5", command, lambda message: None)
