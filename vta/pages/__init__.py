"""Pages that show a network, a run, a tuning log or a sweep: one HTML file each, and the same figures as pictures.

`data` gathers what is shown, `draw` makes figures of it, `write` makes files of these.
"""
