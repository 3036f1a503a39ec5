"""Arrays in, an Estimate out; knows nothing of world models."""
