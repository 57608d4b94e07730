"""`python -m discreet.server.front [--config serve.toml]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from discreet.errors import UsageError
from discreet.server.config import ServeConfig, read_serve_config
from discreet.server.front.main import main


def run(arguments: Sequence[str] | None = None) -> int:
    """Read the options, and run the front. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m discreet.server.front", description="Run the front alone.")
    parser.add_argument("--config", type=Path, help="serve.toml; without it, the configuration of `discreet serve`")
    given = parser.parse_args(arguments)
    try:
        config = read_serve_config(given.config, {}) if given.config else ServeConfig.from_environment()
    except UsageError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return main(config)


if __name__ == "__main__":
    sys.exit(run())
