"""Stand-ins for boards: memory behind caches, registers that behave like the hardware's, and the packages that drivers use.

What a driver does wrong fails loudly: `MisuseError` for what hardware would answer with silence, stale bytes where a cache was
not flushed or invalidated, and no end where nothing was started.
"""
