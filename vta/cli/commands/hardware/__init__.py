"""Commands for the accelerator as hardware: its configs, its Verilog, boards and bitstreams."""
