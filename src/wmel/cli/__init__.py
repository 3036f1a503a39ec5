"""The command line, one file per verb; the only part of wmel that prints."""
