"""Ways to have jobs done, in any order."""
