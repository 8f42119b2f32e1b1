"""Lanes that are the same but for their names and for the numbers of ports without names."""

from vta.hardware.synthesis.same_modules import MODULE, merged


def lane(index: int, number: int, operation: str = "~") -> str:
    top, stage = f"\\vta.lane_{index}", f"\\vta.lane_{index}.stage"
    port = f"\\port${number}$3 "
    return (
        f"module {stage} ({port}, b);\n  input {port};\n  output b;\n  assign b = {operation}{port};\nendmodule\n"
        f"module {top} (a, b);\n  input [1:0] a;\n  output b;\n"
        f"  {stage}  stage (\n    .{port}(a[0]),\n    .b(b)\n  );\nendmodule\n"
    )


def names(verilog: str) -> list[str]:
    return [module["name"] for module in MODULE.finditer(verilog)]


def test_numbers_of_ports_do_not_tell_modules_apart():
    uses = "".join(f"  \\vta.lane_{index}  lane_{index} (\n    .a(a),\n    .b(b[{index}])\n  );\n" for index in range(2))
    top = f"module vta (a, b);\n  input [1:0] a;\n  output [1:0] b;\n{uses}endmodule\n"
    text = merged(top + lane(0, 12) + lane(1, 345), lambda name: "alu")
    assert names(text) == ["vta", "\\vta.lane_0.stage", "\\vta.lane_0"]
    assert text.count("  \\vta.lane_0  lane_") == 2
    assert "port$" not in text
    # The port, and what it is connected to, have one name.
    assert "    .\\own_port_0 (a[0]),\n" in text
    assert "module \\vta.lane_0.stage (\\own_port_0 , b);\n  input \\own_port_0 ;" in text


def test_modules_that_differ_stay():
    text = merged(lane(0, 12) + lane(1, 345, "!"), lambda name: "alu")
    assert len(names(text)) == 4


def test_a_module_says_nothing_of_the_others():
    """Those with processes are numbered through the whole text."""
    processes = "  reg \\$auto$verilog_backend.cc:2355:dump_module$%d  = 0;\n"
    before, after = (lane(0, 12).replace("endmodule", processes % number + "endmodule") for number in (3, 41))
    assert merged(before, lambda name: "alu") == merged(after, lambda name: "alu")
