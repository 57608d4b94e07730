"""One process of a server: `python -m discreet_server.launch front [--config serve.toml]`.

The supervisor passes its configuration on, and the process ends with it. With a file, as in the units and containers of
`deploy/`, the process stands alone, under a user of its own.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from discreet.errors import UsageError
from discreet_server.config import ServeConfig, read_serve_config
from discreet_server.keeper.hardening import end_with_parent

MODULES = {
    "keeper": "discreet_server.keeper.process",
    "front": "discreet_server.front.app",
    "desk": "discreet_server.desk.app",
}
"""By the name of a process: the module whose `main(config)` runs it, and returns its exit code."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the process that the options name. Return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m discreet_server.launch", description="Run one process of a server."
    )
    parser.add_argument("process", choices=sorted(MODULES))
    parser.add_argument("--config", type=Path, help="serve.toml; without it, the configuration of `discreet serve`")
    given = parser.parse_args(arguments)
    try:
        config = read_serve_config(given.config, {}) if given.config else ServeConfig.from_environment()
    except UsageError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if given.config:
        os.umask(0o007)  # the users of the processes share what is in the state folder, by their group
    else:
        end_with_parent(signal.SIGTERM)
    return int(import_module(MODULES[given.process]).main(config))


if __name__ == "__main__":
    sys.exit(run())
