"""Compiled inference of small networks on a CPU, for few rows at a time."""
