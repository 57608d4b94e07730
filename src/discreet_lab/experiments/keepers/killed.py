"""Several keepers on one vault in PostgreSQL, killed at random moments."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from discreet_lab.experiments.common import add_csv_option, write_table
from discreet_lab.experiments.keepers.running import Plan, run
from discreet_lab.experiments.keepers.setting import GRANT_OF_TIGHT


def kill_keepers(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """Several keepers on one vault in PostgreSQL: keepers, fronts, hosts and the database are killed at random moments.

    Documents, ledgers and accounts are in one PostgreSQL server. Each keeper runs with a front of its own, as `discreet
    serve` starts them, with the toy model. Askers send counts, shares, lists and votes to random fronts. What was not
    answered, they send again, under the same Idempotency-Key. At the end, receipts, accounts and ledgers must agree.
    The server loses in a cut what was not committed durably: its default for `synchronous_commit` is off.

    Prints Markdown; ends with 1 if a check fails, and names what breaks it.
    """
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--keepers", type=int, default=4)
    parser.add_argument("--askers", type=int, default=64)
    parser.add_argument("--keys", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tight", type=float, default=GRANT_OF_TIGHT, help="the grant of the second vault")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    plan = Plan(given.minutes * 60, given.keepers, given.askers, given.keys, given.seed, given.tight)
    with tempfile.TemporaryDirectory(prefix="d-") as folder:
        rows, checks = run(Path(folder), plan)
    write_table(["what", "found"], rows, given.csv)
    for name, broken in checks.broken.items():
        for one in broken[:20]:
            print(f"{name}: {one}", file=sys.stderr)
    return 0 if checks.hold else 1
