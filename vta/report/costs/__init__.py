"""What layers and operators cost, in cycles and energy."""
