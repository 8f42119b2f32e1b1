"""Random small models, imported and compared with the frameworks' own results. `python -m vta.testing.import_fuzz` is the command."""
