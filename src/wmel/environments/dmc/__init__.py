"""Tasks of the DeepMind Control Suite."""
