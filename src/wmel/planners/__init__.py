"""Optimisers over action sequences."""
