"""One metric per file: an episode table in, an Estimate out."""
