"""The ceiling bounce: a launch whose distance jumps, where gradient estimators can be held against the truth."""
