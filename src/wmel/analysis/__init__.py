"""Pure functions of episode tables. Nothing here runs an episode."""
