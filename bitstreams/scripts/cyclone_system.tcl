# The system of a Cyclone V: qsys-script --script=system.tcl
package require -exact qsys 16.0
source settings.tcl

create_system system
set_project_property DEVICE_FAMILY "Cyclone V"
set_project_property DEVICE $part

add_instance clock clock_source
set_instance_parameter_value clock clockFrequency 50000000
add_instance pll altera_pll
set_instance_parameter_value pll gui_reference_clock_frequency 50.0
set_instance_parameter_value pll gui_output_clock_frequency0 $clock_mhz
set_instance_parameter_value pll gui_use_locked 0
add_instance hps altera_hps
set_instance_parameter_value hps F2SCLK_COLDRST_Enable 0
set_instance_parameter_value hps F2S_Width 2
set_instance_parameter_value hps S2F_Width 0
set_instance_parameter_value hps LWH2F_Enable true
set_instance_parameter_value hps F2SINTERRUPT_Enable true
add_instance core vta_shell

add_connection clock.clk pll.refclk
add_connection clock.clk_reset pll.reset
foreach sink {core.clock hps.f2h_axi_clock hps.h2f_lw_axi_clock} {
    add_connection pll.outclk0 $sink
}
add_connection hps.h2f_reset core.reset
add_connection hps.h2f_lw_axi_master core.s_axil
set_connection_parameter_value hps.h2f_lw_axi_master/core.s_axil baseAddress $lightweight_offset
add_connection core.m_axi hps.f2h_axi_slave
set_connection_parameter_value core.m_axi/hps.f2h_axi_slave baseAddress 0x0
add_connection hps.f2h_irq0 core.irq

add_interface clk clock end
set_interface_property clk EXPORT_OF clock.clk_in
add_interface reset reset end
set_interface_property reset EXPORT_OF clock.clk_in_reset
add_interface memory conduit end
set_interface_property memory EXPORT_OF hps.memory
save_system system.qsys
