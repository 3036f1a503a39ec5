"""Questions asked of a model alone."""
