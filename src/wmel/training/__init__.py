"""Making world models: data, fits and checkpoints."""
