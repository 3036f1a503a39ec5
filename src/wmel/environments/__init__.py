"""Environments: pure batched functions of explicit states."""
