"""What commands that run networks share."""
