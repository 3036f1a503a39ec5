"""DeepMind Control."""
