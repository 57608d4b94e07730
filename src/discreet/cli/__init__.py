"""The commands, each a few lines over `Vault`."""

from discreet.cli import attack as _attack  # noqa: F401 - commands register themselves
from discreet.cli import audit as _audit  # noqa: F401
from discreet.cli import budget as _budget  # noqa: F401
from discreet.cli import claim as _claim  # noqa: F401
from discreet.cli import demo as _demo  # noqa: F401
from discreet.cli import evaluate as _evaluate  # noqa: F401
from discreet.cli import export as _export  # noqa: F401
from discreet.cli import public as _public  # noqa: F401
from discreet.cli import synthesize as _synthesize  # noqa: F401
from discreet.cli.app import main

__all__ = ["main"]
