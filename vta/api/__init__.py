"""What `import vta` offers, as functions that take names, paths and plain arrays."""
