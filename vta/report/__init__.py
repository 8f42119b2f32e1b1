"""Tables and pictures of results."""
