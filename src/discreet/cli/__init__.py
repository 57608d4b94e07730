"""The command line: one command a file, each a few lines over `Vault`."""

from discreet.cli.app import main

__all__ = ["main"]
