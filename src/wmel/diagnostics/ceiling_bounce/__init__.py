"""The ceiling bounce: a launch whose distance jumps, with a known gradient to compare estimators with."""
