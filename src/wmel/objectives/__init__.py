"""What planners minimise."""
