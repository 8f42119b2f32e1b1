"""The graph and its operators."""
