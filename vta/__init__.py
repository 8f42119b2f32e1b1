"""vta: from a trained network to programs of the VTA accelerator, and their simulation."""
