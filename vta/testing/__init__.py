"""Oracles that the tests hold the fast engines to."""
