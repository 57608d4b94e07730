"""Several keepers on one vault in PostgreSQL: keepers, fronts, hosts and the database are killed at random moments.

    .venv/bin/python -m benchmarks.keepers [--minutes 20] [--keepers 4] [--askers 64] [--keys 16] [--seed 1]
        [--tight 40] [--csv PATH]

Documents, ledgers and accounts are in one PostgreSQL server. Each keeper runs with a front of its own, as `discreet
serve` starts them, with the toy model. Askers send counts, shares, lists and votes to random fronts. What was not
answered, they send again, under the same Idempotency-Key. At the end, receipts, accounts and ledgers must agree. The
server loses in a cut what was not committed durably: its default for `synchronous_commit` is off.

Prints Markdown; ends with 1 if a check fails, and names what breaks it.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.keepers.running import Plan, run
from benchmarks.keepers.setting import GRANT_OF_TIGHT
from benchmarks.writing import add_csv_option, write_table


def main() -> int:
    """Run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--keepers", type=int, default=4)
    parser.add_argument("--askers", type=int, default=64)
    parser.add_argument("--keys", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tight", type=float, default=GRANT_OF_TIGHT, help="the grant of the second vault")
    add_csv_option(parser)
    given = parser.parse_args()
    plan = Plan(given.minutes * 60, given.keepers, given.askers, given.keys, given.seed, given.tight)
    with tempfile.TemporaryDirectory(prefix="d-") as folder:
        rows, checks = run(Path(folder), plan)
    write_table(["what", "found"], rows, given.csv)
    for name, broken in checks.broken.items():
        for one in broken[:20]:
            print(f"{name}: {one}", file=sys.stderr)
    return 0 if checks.hold else 1


if __name__ == "__main__":
    sys.exit(main())
