"""How fast systems run: reports of those that were built, and estimates from them for others."""
