"""Where the cycles of a compiled network go, and what would win them back."""
