"""The closed loop: policies act in environments, one block of episodes at a time."""
