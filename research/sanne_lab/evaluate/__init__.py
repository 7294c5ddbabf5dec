"""Scores that only experiments need."""
