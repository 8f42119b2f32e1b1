"""Random small models, imported and compared with the frameworks. `python -m vta.testing.import_fuzz` is the command."""
