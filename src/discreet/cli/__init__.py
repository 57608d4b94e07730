"""The commands, each a few lines over `Vault`, in a file of its own."""

from discreet.cli.app import main

__all__ = ["main"]
