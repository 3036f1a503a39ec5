"""Planners: optimisers over action sequences."""
