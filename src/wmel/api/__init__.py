"""The verbs: every one a function, which the command line only calls."""
