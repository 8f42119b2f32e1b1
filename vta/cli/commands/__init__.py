"""The commands, a module each: `register` adds the options of one, and is called when it is asked for.

Those for networks are here, the others in folders.
"""
