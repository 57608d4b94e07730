"""Starts one process of the server: `python -m discreet.server.launch front`. It ends when the supervisor ends."""

import signal
import sys
from importlib import import_module

from discreet.server.config import ServeConfig
from discreet.server.keeper.hardening import end_with_parent

MODULES = {
    "keeper": "discreet.server.keeper.process",
    "front": "discreet.server.front.main",
    "desk": "discreet.server.desk.main",
}
"""By the name of a process: the module whose `main(config, ...)` runs it, and returns its exit code."""


def main() -> int:
    """Run the process that the command line names."""
    name = sys.argv[1]
    end_with_parent(signal.SIGTERM)
    return int(import_module(MODULES[name]).main(ServeConfig.from_environment(), *sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
