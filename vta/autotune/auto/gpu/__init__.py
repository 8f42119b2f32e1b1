"""Schedules of GPUs: their sketches, a model of what they cost, and how they are timed."""
