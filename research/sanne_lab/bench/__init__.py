"""Measurements of speed that a user can repeat: `sanne bench`."""
