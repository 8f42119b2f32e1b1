"""Tuning: tasks, config spaces, tuners, measuring and records."""
