"""A module that breaks when it is imported."""

raise RuntimeError("half written")
