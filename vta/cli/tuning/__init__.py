"""What commands that tune share."""
