"""ESNR, the expected signal-to-noise ratio of policy gradients through a model."""
