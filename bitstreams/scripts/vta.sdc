# The board's oscillator; clocks of the system follow from it.
create_clock -name clk50 -period 20.0 [get_ports clk50]
derive_pll_clocks
derive_clock_uncertainty
