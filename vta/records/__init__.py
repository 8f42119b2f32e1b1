"""Tuning records, and the schedules that they hold."""

from vta.records.sources import schedules

__all__ = ["schedules"]
