"""Training TD-MPC2: online in a batch of environments, or offline from stored episodes."""
