// Stands in for the core in tests of the harness: copies `bursts` bursts of `beats` beats from `source` to `target`,
// and notes at which cycle after the launch things happened.
module vta #(parameter BUS_BYTES = 8, parameter SPACING = 0) (
  input clk, input rst,
  input s_axil_awvalid, output s_axil_awready, input [15:0] s_axil_awaddr,
  input s_axil_wvalid, output s_axil_wready, input [31:0] s_axil_wdata, input [3:0] s_axil_wstrb,
  output reg s_axil_bvalid, input s_axil_bready, output [1:0] s_axil_bresp,
  input s_axil_arvalid, output s_axil_arready, input [15:0] s_axil_araddr,
  output reg s_axil_rvalid, input s_axil_rready, output reg [31:0] s_axil_rdata, output [1:0] s_axil_rresp,
  output m_axi_arvalid, input m_axi_arready, output [31:0] m_axi_araddr, output [7:0] m_axi_arlen,
  output [2:0] m_axi_arsize, output [1:0] m_axi_arburst, output [1:0] m_axi_arid,
  input m_axi_rvalid, output m_axi_rready, input [8*BUS_BYTES-1:0] m_axi_rdata, input m_axi_rlast,
  input [1:0] m_axi_rid, input [1:0] m_axi_rresp,
  output m_axi_awvalid, input m_axi_awready, output [31:0] m_axi_awaddr, output [7:0] m_axi_awlen,
  output [2:0] m_axi_awsize, output [1:0] m_axi_awburst,
  output m_axi_wvalid, input m_axi_wready, output [8*BUS_BYTES-1:0] m_axi_wdata, output [BUS_BYTES-1:0] m_axi_wstrb,
  output m_axi_wlast, input m_axi_bvalid, output m_axi_bready, input [1:0] m_axi_bresp,
  output reg irq
);
  // 0 control, 4 bursts, 8 beats, 12 source, 16 target, 20 strobes; from 64 on: the notes, in the order of `note`
  reg [31:0] regs [0:7];
  reg [31:0] note [0:7];
  reg [8*BUS_BYTES-1:0] fifo [0:1023];
  reg running;
  reg [31:0] cycle, asked, got, put, addressed, answered;
  wire [31:0] bursts = regs[1], beats = regs[2], total = bursts * beats;

  assign s_axil_awready = s_axil_awvalid & s_axil_wvalid & ~s_axil_bvalid;
  assign s_axil_wready = s_axil_awready;
  assign s_axil_arready = ~s_axil_rvalid;
  assign {s_axil_bresp, s_axil_rresp} = 0;

  assign m_axi_arvalid = running & asked != bursts;
  assign m_axi_araddr = regs[3] + asked * beats * BUS_BYTES;
  assign {m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_arid} = {beats[7:0] - 8'd1, 3'($clog2(BUS_BYTES)), 2'd1, 2'd0};
  assign m_axi_rready = 1;
  // A burst is written once all of it is there; its address goes out with its first beat.
  wire ready = running & put < total & got >= (put / beats + 1) * beats;
  assign m_axi_awvalid = ready & addressed == put / beats;
  assign m_axi_awaddr = regs[4] + addressed * beats * BUS_BYTES;
  assign {m_axi_awlen, m_axi_awsize, m_axi_awburst} = {beats[7:0] - 8'd1, 3'($clog2(BUS_BYTES)), 2'd1};
  assign m_axi_wvalid = ready & (addressed != put / beats | m_axi_awready);
  assign m_axi_wdata = fifo[put[9:0]];
  assign m_axi_wstrb = {BUS_BYTES{1'b1}} & ~regs[5];
  assign m_axi_wlast = put % beats == beats - 1;
  assign m_axi_bready = 1;

  integer i;
  always @(posedge clk) begin
    cycle <= cycle + 1;
    if (s_axil_awready) begin
      s_axil_bvalid <= 1;
      if (s_axil_awaddr == 0) begin
        running <= 1;
        irq <= 0;
        {cycle, asked, got, put, addressed, answered} <= 0;
        for (i = 0; i < 8; i = i + 1) note[i] <= 0;
      end else regs[s_axil_awaddr[4:2]] <= s_axil_wdata;
    end
    if (s_axil_bvalid & s_axil_bready) s_axil_bvalid <= 0;
    if (s_axil_arvalid & s_axil_arready) begin
      s_axil_rvalid <= 1;
      s_axil_rdata <= s_axil_araddr[6] ? note[s_axil_araddr[4:2]] : regs[s_axil_araddr[4:2]];
    end
    if (s_axil_rvalid & s_axil_rready) s_axil_rvalid <= 0;
    if (running) begin
      if (m_axi_arvalid & m_axi_arready) begin
        asked <= asked + 1;
        if (asked == 0) note[0] <= cycle;
      end
      if (m_axi_rvalid) begin
        fifo[got[9:0]] <= m_axi_rdata;
        got <= got + 1;
        if (got == 0) note[1] <= cycle;
        if (got == beats) note[2] <= cycle;
        if (got == total - 1) note[3] <= cycle;
      end
      if (m_axi_wvalid & m_axi_wready) begin
        put <= put + 1;
        if (put == 0) note[4] <= cycle;
        if (put == total - 1) note[5] <= cycle;
      end
      if (m_axi_awvalid & m_axi_awready) addressed <= addressed + 1;
      if (m_axi_bvalid) begin
        answered <= answered + 1;
        if (answered == 0) note[6] <= cycle;
        if (answered == bursts - 1) begin
          note[7] <= cycle;
          irq <= 1;
          running <= 0;
        end
      end
    end
    if (rst) begin
      {running, irq, s_axil_bvalid, s_axil_rvalid} <= 0;
      for (i = 0; i < 8; i = i + 1) regs[i] <= 0;
    end
  end
endmodule
