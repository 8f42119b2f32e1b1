"""What is read from and written to the terminal."""
