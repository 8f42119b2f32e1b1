"""Passes that fold one operator into another, or into constants."""
