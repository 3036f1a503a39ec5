"""Which seeds belong to training data."""

TRAINING = 10_000  # training episodes of a seed are those of this many seeds further on: the published formula
