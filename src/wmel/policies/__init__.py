"""Policies: they choose the actions of an episode."""
