"""Schedules of any compute, found from its structure: no templates."""
