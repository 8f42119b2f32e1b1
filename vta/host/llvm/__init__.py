"""Machine code for loops, by LLVM."""
