"""Experiments as data: what a study file asks for, run, stored and resumed."""
