"""One process of a server without its supervisor, for systemd and containers: each process has a user of its own.

python -m discreet.server.alone keeper --config serve.toml
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from discreet.errors import UsageError
from discreet.server.config import ServeConfig, read_serve_config
from discreet.server.launch import MODULES


def run(arguments: Sequence[str] | None = None) -> int:
    """Read the options, and run the process that they name. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m discreet.server.alone", description="Run one process of a server.")
    parser.add_argument("process", choices=sorted(MODULES))
    parser.add_argument("--config", type=Path, help="serve.toml; without it, the configuration of `discreet serve`")
    given = parser.parse_args(arguments)
    try:
        config = read_serve_config(given.config, {}) if given.config else ServeConfig.from_environment()
    except UsageError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    os.umask(0o007)  # the users of the processes share what is in the state folder, by their group
    return int(import_module(MODULES[given.process]).main(config))


if __name__ == "__main__":
    sys.exit(run())
