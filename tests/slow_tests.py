"""The tests that take longer than a fifth of a second: `make quick` leaves them out.

    .venv/bin/python -m tests.slow_tests durations.txt

writes their names, as `make test` has last measured them, into tests/slow_tests.txt.
"""

import sys
from collections import defaultdict
from pathlib import Path

FILE = Path(__file__).with_suffix(".txt")
LONGEST, ALL = 0.2, 1.0
"""Seconds that one case of a test may take in `make quick`, and all its cases together."""


def slow_tests(durations: str) -> list[str]:
    """Return the names of the slow tests, without their parameters, from the lines of a file of durations."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for line in durations.splitlines():
        taken, _, name = line.strip().partition(" ")
        seconds[name.strip().partition("[")[0].removeprefix("tests/")].append(float(taken))
    return sorted(name for name, cases in seconds.items() if max(cases) > LONGEST or sum(cases) > ALL)


def read_slow_tests() -> frozenset[str]:
    """Return the names in the file."""
    return frozenset(FILE.read_text(encoding="utf-8").split())


if __name__ == "__main__":
    FILE.write_text("\n".join(slow_tests(Path(sys.argv[1]).read_text(encoding="utf-8"))) + "\n", encoding="utf-8")
