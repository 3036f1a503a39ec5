"""Policies: what closes the loop."""
