"""Experiments as data: a study is read, run, stored and resumed."""
