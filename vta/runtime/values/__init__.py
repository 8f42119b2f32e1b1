"""Values that are given to networks and that come of them: batches, frames."""
