"""The units: what fetches, loads, computes and stores, and the core that they make."""
