"""What can happen to an episode that nobody planned for."""
