"""The tests that take longer than a fifth of a second: `make quick` leaves them out.

    .venv/bin/python -m tests.slow_tests durations.txt [quick.txt]

writes their names into tests/slow_tests.txt, as `make test` and the quick tests have measured them. `pytest
--durations-file quick.txt` writes the second file: a test that loads torch is slow in it alone.
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
    names = {name for file in sys.argv[1:] for name in slow_tests(Path(file).read_text(encoding="utf-8"))}
    FILE.write_text("\n".join(sorted(names)) + "\n", encoding="utf-8")
