# The clock comes from the processor, and brings its own constraint along. All pins are the processor's.
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
