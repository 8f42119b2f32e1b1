# Builds the bitstream of a package that 'vta rtl package' wrote, for the DE10-Nano:
#     quartus_sh -t build.tcl
# Leaves NAME.rbf, compressed, and the reports of the fitter and of timing, beside this file.

set here [file dirname [file normalize [info script]]]
cd $here
source settings.tcl
package require ::quartus::project
package require ::quartus::flow

# The processor with its bridges, and the core between them.
exec qsys-script --script=system.tcl >@ stdout
exec qsys-generate system.qsys --synthesis=VERILOG >@ stdout

project_new vta -overwrite
set_global_assignment -name FAMILY "Cyclone V"
set_global_assignment -name DEVICE $part
set_global_assignment -name TOP_LEVEL_ENTITY top
set_global_assignment -name VERILOG_FILE vta.v
set_global_assignment -name VERILOG_FILE vta_shell.v
set_global_assignment -name VERILOG_FILE top.v
set_global_assignment -name QIP_FILE system/synthesis/system.qip
set_global_assignment -name SDC_FILE vta.sdc
set_global_assignment -name OPTIMIZATION_MODE "HIGH PERFORMANCE EFFORT"
set_location_assignment PIN_V11 -to clk50
set_instance_assignment -name IO_STANDARD "3.3-V LVTTL" -to clk50
export_assignments

# The pins of the processor's memory follow from the system; its contents are for the boot loader, which has them already.
execute_module -tool map
source system/synthesis/submodules/hps_sdram_p0_pin_assignments.tcl
execute_module -tool fit
execute_module -tool sta
execute_module -tool asm
exec quartus_cpf -c -o bitstream_compression=on vta.sof $name.rbf >@ stdout
project_close
puts "$name.rbf"
