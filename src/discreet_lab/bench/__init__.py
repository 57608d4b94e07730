"""Tables and figures of papers, rerun on the data at hand: `discreet bench`. For the custodian; no unit pays for them.

A table is data (`papers`, one file a paper): its sweep, its columns, the paper's figures and why ours differ. A kind of
experiment is a function from a table to rows (`experiments`). `runner.py` runs a table.
"""
