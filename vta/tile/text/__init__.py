"""The text of the tile level: printed and parsed, so that people and tests can read what will run."""
