"""Training world models: data, fits, errors and checkpoints."""
