// The DE10-Nano's clock and the memory pins of its processor around the system.
module top (
    input         clk50,
    output [14:0] hps_memory_a,
    output [2:0]  hps_memory_ba,
    output        hps_memory_ck,
    output        hps_memory_ck_n,
    output        hps_memory_cke,
    output        hps_memory_cs_n,
    output        hps_memory_ras_n,
    output        hps_memory_cas_n,
    output        hps_memory_we_n,
    output        hps_memory_reset_n,
    inout  [31:0] hps_memory_dq,
    inout  [3:0]  hps_memory_dqs,
    inout  [3:0]  hps_memory_dqs_n,
    output        hps_memory_odt,
    output [3:0]  hps_memory_dm,
    input         hps_memory_oct_rzqin
);
    system u_system (
        .clk_clk            (clk50),
        .reset_reset_n      (1'b1),
        .memory_mem_a       (hps_memory_a),
        .memory_mem_ba      (hps_memory_ba),
        .memory_mem_ck      (hps_memory_ck),
        .memory_mem_ck_n    (hps_memory_ck_n),
        .memory_mem_cke     (hps_memory_cke),
        .memory_mem_cs_n    (hps_memory_cs_n),
        .memory_mem_ras_n   (hps_memory_ras_n),
        .memory_mem_cas_n   (hps_memory_cas_n),
        .memory_mem_we_n    (hps_memory_we_n),
        .memory_mem_reset_n (hps_memory_reset_n),
        .memory_mem_dq      (hps_memory_dq),
        .memory_mem_dqs     (hps_memory_dqs),
        .memory_mem_dqs_n   (hps_memory_dqs_n),
        .memory_mem_odt     (hps_memory_odt),
        .memory_mem_dm      (hps_memory_dm),
        .memory_oct_rzqin   (hps_memory_oct_rzqin)
    );
endmodule
