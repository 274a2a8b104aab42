"""Code that the commands share."""
