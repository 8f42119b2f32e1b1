"""Where two runs of a network first differ, and what made the difference."""
