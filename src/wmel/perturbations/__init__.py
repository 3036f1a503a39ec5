"""Perturbations of episodes: of states, observations and actions."""
