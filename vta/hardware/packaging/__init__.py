"""What the vendors' tools take to make a bitstream of the core for a board."""
