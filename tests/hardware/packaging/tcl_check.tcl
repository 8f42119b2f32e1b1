# Runs a build script of a package without the vendor's tools: every command of theirs is taken down, and answered as if it
# had worked. Prints the commands, one a line.

set script [lindex $argv 0]
set here [file dirname [file normalize $script]]
set calls {}

proc unknown {args} {
    global calls here
    lappend calls $args
    set command [lindex $args 0]
    if {$command eq "get_property" && [lindex $args 1] eq "PROGRESS"} { return "100%" }
    if {$command eq "get_property" && [lindex $args 1] eq "SLACK"} { return 0.25 }
    if {$command eq "launch_runs" && [lindex $args 1] eq "impl_1"} {
        file mkdir [file join $here project vta.runs impl_1] [file join $here project vta.gen/sources_1/bd/vta_core/hw_handoff]
        foreach name {vta.runs/impl_1/vta_core_wrapper.bit vta.gen/sources_1/bd/vta_core/hw_handoff/vta_core.hwh} {
            close [open [file join $here project $name] w]
        }
    }
    return [join $args _]
}

rename package real_package
proc package {args} {
    global calls
    lappend calls [concat package $args]
}
rename exec real_exec
proc exec {args} {
    global calls here
    lappend calls [concat exec $args]
    if {[lindex $args 0] eq "qsys-generate"} {
        file mkdir [file join $here system synthesis submodules]
        close [open [file join $here system/synthesis/submodules/hps_sdram_p0_pin_assignments.tcl] w]
    }
}
rename puts real_puts
proc puts {args} {}

cd $here
source $script
foreach call $calls { real_puts $call }
