"""Experiments, by one command: `python -m discreet_lab.experiments`. They print the tables of docs/results."""
