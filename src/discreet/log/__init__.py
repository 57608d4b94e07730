"""Logs that only grow: one table, whose rows a process replays into its memory.

Read in this order: `chain` (rows, their hashes, appending, reading, closing, and what errors are called), `replay` (the
state of a log in memory, its check, and the file that detects an older copy), `arrays` (snapshots), and `sqlite` and
`postgres` (connections, transactions and locks). `discreet.ledger` builds the ledger of units on it.
"""
