"""Sweeps: the same networks and workloads on many hardware configs."""
