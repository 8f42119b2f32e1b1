"""Where parts of a netlist are placed, before place-and-route places the rest."""
