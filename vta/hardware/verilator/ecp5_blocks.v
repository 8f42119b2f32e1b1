// What the hard blocks of an ECP5 do in the modes that Yosys maps to: memories without output registers, and multipliers
// without the registers at their ends. Nothing here says what memories begin with: the simulator's zeros do. Sources: Lattice's memory guide
// (TN-02204) and DSP guide (TN-02205) of the ECP5.

// A memory of 1,024 rows of 18 bits with two ports. What one port reads while the other writes its row is not defined: here it is
// the opposite of what was there. A port of 36 bits writes by A and reads by B, and takes the data pins of both.
module ecp5_memory #(
  parameter WIDTH_A = 18,
  parameter WIDTH_B = 18,
  parameter MODE_A = "NORMAL",
  parameter MODE_B = "NORMAL"
) (
  input clk_a, input enable_a, input write_a, input reset_a, input [13:0] address_a, input [35:0] data_a, output reg [35:0] q_a,
  input clk_b, input enable_b, input write_b, input reset_b, input [13:0] address_b, input [35:0] data_b, output reg [35:0] q_b
);
  reg [17:0] rows [0:1023];

  // Where an element of `width` bits begins in its row: a ninth bit goes with each byte, and narrow elements leave it out.
  function [4:0] start(input integer width, input [13:0] address);
    case (width)
      9: start = address[3] ? 5'd9 : 5'd0;
      4: start = (address[3] ? 5'd9 : 5'd0) + {2'd0, address[2], 2'd0};
      2: start = (address[3] ? 5'd9 : 5'd0) + {2'd0, address[2:1], 1'd0};
      1: start = (address[3] ? 5'd9 : 5'd0) + {2'd0, address[2:0]};
      default: start = 5'd0;
    endcase
  endfunction

  // The bits of the row that are written; the lowest bits of a wide element's address enable its bytes.
  function [17:0] written(input integer width, input [13:0] address, input upper);
    case (width)
      36: written = upper ? {{9{address[3]}}, {9{address[2]}}} : {{9{address[1]}}, {9{address[0]}}};
      18: written = {{9{address[1]}}, {9{address[0]}}};
      default: written = ((18'd1 << width) - 18'd1) << start(width, address);
    endcase
  endfunction

  wire [9:0] row_a = WIDTH_A == 36 ? {address_a[13:5], 1'b0} : address_a[13:4];
  wire [9:0] row_b = WIDTH_B == 36 ? {address_b[13:5], 1'b0} : address_b[13:4];
  wire [17:0] mask_a = written(WIDTH_A, address_a, 1'b0), mask_b = written(WIDTH_B, address_b, 1'b0);
  wire [17:0] upper_a = written(WIDTH_A, address_a, 1'b1), upper_b = written(WIDTH_B, address_b, 1'b1);
  wire [17:0] old_a = rows[row_a], old_b = rows[row_b];
  wire [17:0] new_a = (old_a & ~mask_a) | ((data_a[17:0] << start(WIDTH_A, address_a)) & mask_a);
  wire [17:0] new_b = (old_b & ~mask_b) | ((data_b[17:0] << start(WIDTH_B, address_b)) & mask_b);
  // The bits of a row that the other port writes. A port of 36 bits writes two rows, and is A.
  function [17:0] spoiled_by_a(input [9:0] row);
    spoiled_by_a = !(enable_a && write_a) ? 18'd0 : row == row_a ? mask_a : WIDTH_A == 36 && row == (row_a | 10'd1) ? upper_a : 18'd0;
  endfunction
  function [17:0] spoiled_by_b(input [9:0] row);
    spoiled_by_b = enable_b && write_b && row == row_b ? mask_b : 18'd0;
  endfunction

  wire [17:0] seen_a = MODE_A == "WRITETHROUGH" && write_a ? new_a : old_a ^ spoiled_by_b(row_a);
  wire [17:0] seen_b = MODE_B == "WRITETHROUGH" && write_b ? new_b : old_b ^ spoiled_by_a(row_b);

  always @(posedge clk_a) begin
    if (enable_a && write_a) begin
      rows[row_a] <= new_a;
      if (WIDTH_A == 36) rows[row_a | 10'd1] <= (rows[row_a | 10'd1] & ~upper_a) | (data_a[35:18] & upper_a);
    end
    if (reset_a) q_a <= 36'd0;
    else if (enable_a && !(write_a && MODE_A == "NORMAL")) q_a <= {rows[row_a | 10'd1] ^ spoiled_by_b(row_a | 10'd1), seen_a >> start(WIDTH_A, address_a)};
  end

  always @(posedge clk_b) begin
    if (enable_b && write_b) begin
      rows[row_b] <= new_b;
      if (WIDTH_B == 36) rows[row_b | 10'd1] <= (rows[row_b | 10'd1] & ~upper_b) | (data_b[35:18] & upper_b);
    end
    if (reset_b) q_b <= 36'd0;
    else if (enable_b && !(write_b && MODE_B == "NORMAL")) q_b <= {rows[row_b | 10'd1] ^ spoiled_by_a(row_b | 10'd1), seen_b >> start(WIDTH_B, address_b)};
  end
endmodule

module ecp5_multiplier (input [17:0] a, input [17:0] b, input signed_a, input signed_b, output [35:0] p);
  wire signed [18:0] left = {signed_a & a[17], a}, right = {signed_b & b[17], b};
  wire signed [37:0] product = left * right;
  assign p = product[35:0];
endmodule

// A register of a multiplier, or a wire where it has none. Its reset comes before its enable.
module ecp5_register #(
  parameter WIDTH = 18,
  parameter CLOCK = "NONE"
) (
  input clk, input enable, input reset, input [WIDTH-1:0] d, output [WIDTH-1:0] q
);
  reg [WIDTH-1:0] held = 0;
  always @(posedge clk) if (reset) held <= 0; else if (enable) held <= d;
  assign q = CLOCK == "NONE" ? d : held;
endmodule
