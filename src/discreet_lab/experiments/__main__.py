"""The common command of the experiments.

python -m discreet_lab.experiments                   # the experiments, their parts and the tables that they print
python -m discreet_lab.experiments NAME              # the parts of one
python -m discreet_lab.experiments NAME PART ...     # run a part; --help lists its options
"""

import argparse
import inspect
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from discreet_lab.experiments.catalogue import EXPERIMENTS, printed_tables

PROGRAM = "python -m discreet_lab.experiments"
Run = Callable[[argparse.ArgumentParser, Sequence[str]], int | None]


def list_experiments(names: Sequence[str]) -> None:
    """Print experiments with their parts, and the tables of docs/results/data that each part prints."""
    tables = printed_tables()
    for name in names:
        print(f"{name}: {EXPERIMENTS[name].summary}")
        for part in EXPERIMENTS[name].parts:
            print(f"    {part:15} {', '.join(tables.get((name, part), ['-']))}")


def load_part(name: str, part: str) -> Run:
    """Return the function of a part."""
    module, _, function = EXPERIMENTS[name].parts[part].partition(":")
    run: Run = getattr(import_module(f"discreet_lab.experiments.{module}"), function)
    return run


def parser_of(name: str, part: str, run: Run) -> argparse.ArgumentParser:
    """Return the parser of a part, whose help is what its function says."""
    return argparse.ArgumentParser(
        prog=f"{PROGRAM} {name} {part}",
        description=inspect.cleandoc(run.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a part, or list what there is. Return 2 for a name that does not exist."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if not words or words[0] in ("-h", "--help"):
        print(__doc__)
        list_experiments(list(EXPERIMENTS))
        return 0
    name, *rest = words
    if name not in EXPERIMENTS:
        print(f"There is no experiment {name}. The experiments are: {', '.join(EXPERIMENTS)}.", file=sys.stderr)
        return 2
    part = rest[0] if rest else "--help"
    if part in ("-h", "--help"):
        list_experiments([name])
        return 0
    if part not in EXPERIMENTS[name].parts:
        parts = ", ".join(EXPERIMENTS[name].parts)
        print(f"{name} has no part {part}. Its parts are: {parts}.", file=sys.stderr)
        return 2
    try:
        run = load_part(name, part)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "tests":
            raise
        print(f"{name} {part} uses the tests of a checkout. Run it in the folder of one.", file=sys.stderr)
        return 2
    return run(parser_of(name, part, run), rest[1:]) or 0


if __name__ == "__main__":
    sys.exit(main())
