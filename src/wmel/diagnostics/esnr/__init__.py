"""ESNR: how much signal policy gradients through a model carry, for their noise."""
