"""What pages show, gathered from modules, runs, logs and sweeps."""
