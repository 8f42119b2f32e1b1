# Builds the bitstream of a package that 'vta rtl package' wrote, for a Zynq-7000 or a Zynq UltraScale+:
#     vivado -mode batch -source build.tcl
# Leaves NAME.bit and NAME.hwh, and the reports utilization.rpt and timing.rpt, beside this file.

set here [file dirname [file normalize [info script]]]
source [file join $here settings.tcl]

set project [file join $here project]
create_project -force vta $project -part $part
add_files [list [file join $here vta.v] [file join $here vta_shell.v]]
add_files -fileset constrs_1 [file join $here vta.xdc]
update_compile_order -fileset sources_1

# A bitstream's head has this name: it tells the core of this package from other designs.
create_bd_design vta_core
set core [create_bd_cell -type module -reference vta_shell core]
set reset [create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset reset]
set control [create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect control]
set memory [create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect memory]
foreach switch [list $control $memory] {
    set_property -dict [list CONFIG.NUM_SI 1 CONFIG.NUM_MI 1] $switch
}

# The processor: one port to control the core, one through which the core reaches memory, one clock, one interrupt.
if {$family eq "zynq-7000"} {
    set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7 ps]
    set_property -dict [list \
        CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ $clock_mhz \
        CONFIG.PCW_USE_M_AXI_GP0 1 \
        CONFIG.PCW_USE_FABRIC_INTERRUPT 1 \
        CONFIG.PCW_IRQ_F2P_INTR 1] $ps
    if {$coherent} {
        set_property -dict [list CONFIG.PCW_USE_S_AXI_ACP 1 CONFIG.PCW_USE_DEFAULT_ACP_USER_VAL 1] $ps
        set port S_AXI_ACP
        set segment ACP_DDR_LOWOCM
    } else {
        set_property -dict [list CONFIG.PCW_USE_S_AXI_HP0 1 CONFIG.PCW_S_AXI_HP0_DATA_WIDTH 64] $ps
        set port S_AXI_HP0
        set segment HP0_DDR_LOWOCM
    }
    make_bd_intf_pins_external -name DDR [get_bd_intf_pins ps/DDR]
    make_bd_intf_pins_external -name FIXED_IO [get_bd_intf_pins ps/FIXED_IO]
    set space ps/Data
    set clock ps/FCLK_CLK0
    set reset_source ps/FCLK_RESET0_N
    set clocked [list ps/M_AXI_GP0_ACLK ps/${port}_ACLK]
    set control_port ps/M_AXI_GP0
    set interrupt ps/IRQ_F2P
    set segment_path ps/$port/$segment
} else {
    set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:zynq_ultra_ps_e ps]
    set_property -dict [list \
        CONFIG.PSU__FPGA_PL0_ENABLE 1 \
        CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ $clock_mhz \
        CONFIG.PSU__USE__M_AXI_GP0 1 \
        CONFIG.PSU__MAXIGP0__DATA_WIDTH 32 \
        CONFIG.PSU__USE__M_AXI_GP1 0 \
        CONFIG.PSU__USE__M_AXI_GP2 0 \
        CONFIG.PSU__USE__IRQ0 1] $ps
    set width [expr {$bus_bits < 128 ? $bus_bits : 128}]
    if {$coherent} {
        set_property -dict [list CONFIG.PSU__USE__S_AXI_GP0 1 CONFIG.PSU__SAXIGP0__DATA_WIDTH $width] $ps
        set port S_AXI_HPC0_FPD
        set segment_path ps/SAXIGP0/HPC0_DDR_LOW
        set port_clock ps/saxihpc0_fpd_aclk
    } else {
        set_property -dict [list CONFIG.PSU__USE__S_AXI_GP2 1 CONFIG.PSU__SAXIGP2__DATA_WIDTH $width] $ps
        set port S_AXI_HP0_FPD
        set segment_path ps/SAXIGP2/HP0_DDR_LOW
        set port_clock ps/saxihp0_fpd_aclk
    }
    set space ps/Data
    set clock ps/pl_clk0
    set reset_source ps/pl_resetn0
    set clocked [list ps/maxihpm0_fpd_aclk $port_clock]
    set control_port ps/M_AXI_HPM0_FPD
    set interrupt ps/pl_ps_irq0
}

foreach pin [concat $clocked [list reset/slowest_sync_clk control/aclk memory/aclk core/clk]] {
    connect_bd_net [get_bd_pins $clock] [get_bd_pins $pin]
}
connect_bd_net [get_bd_pins $reset_source] [get_bd_pins reset/ext_reset_in]
foreach pin [list control/aresetn memory/aresetn core/resetn] {
    connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins $pin]
}
connect_bd_intf_net [get_bd_intf_pins $control_port] [get_bd_intf_pins control/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins control/M00_AXI] [get_bd_intf_pins core/s_axil]
connect_bd_intf_net [get_bd_intf_pins core/m_axi] [get_bd_intf_pins memory/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins memory/M00_AXI] [get_bd_intf_pins ps/$port]
connect_bd_net [get_bd_pins core/irq] [get_bd_pins $interrupt]

assign_bd_address -offset $registers_base -range $registers_bytes \
    -target_address_space [get_bd_addr_spaces $space] [get_bd_addr_segs core/s_axil/reg0]
assign_bd_address -offset $memory_base -range $memory_bytes \
    -target_address_space [get_bd_addr_spaces core/m_axi] [get_bd_addr_segs $segment_path]

validate_bd_design
save_bd_design
set design [get_files vta_core.bd]
generate_target all $design
make_wrapper -files $design -top -import
set_property top vta_core_wrapper [current_fileset]

launch_runs synth_1 -jobs 2
wait_on_run synth_1
launch_runs impl_1 -to_step write_bitstream -jobs 2
wait_on_run impl_1
if {[get_property PROGRESS [get_runs impl_1]] ne "100%"} {
    error "the implementation did not end; its log is in $project"
}

open_run impl_1
report_utilization -hierarchical -file [file join $here utilization.rpt]
report_timing_summary -file [file join $here timing.rpt]
set slack [get_property SLACK [get_timing_paths]]
if {$slack < 0} {
    error "at $clock_mhz MHz the slack is $slack ns: lower clock_mhz of the board's design, and package again"
}
file copy -force [file join $project vta.runs impl_1 vta_core_wrapper.bit] [file join $here $name.bit]
foreach found [concat \
    [glob -nocomplain -directory $project vta.gen/sources_1/bd/vta_core/hw_handoff/*.hwh] \
    [glob -nocomplain -directory $project vta.srcs/sources_1/bd/vta_core/hw_handoff/*.hwh]] {
    file copy -force $found [file join $here $name.hwh]
}
puts "$name.bit: slack $slack ns at $clock_mhz MHz"
