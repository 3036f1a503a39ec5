"""Diagnostics: measurements of a model on its own, without control in closed loop."""
