"""Running episodes: the only place where policies and environments meet."""
