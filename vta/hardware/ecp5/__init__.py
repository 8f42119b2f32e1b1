"""What is done with a netlist of ECP5 cells between synthesis and placement."""
