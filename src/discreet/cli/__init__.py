"""The command line: commands that belong together in one file, each a few lines over `Vault`."""

from discreet.cli.app import main

__all__ = ["main"]
