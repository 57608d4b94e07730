"""Several keepers: a short run with faults."""

from pathlib import Path

from tests.lab.keepers.killed import Plan, run

SHORT = Plan(seconds=15, keepers=2, askers=8, keys=4, seed=3, pause=(1.0, 3.0), late=5.0)


def test_killed_keepers_and_database_lose_and_double_no_payment(short_path: Path) -> None:
    found, killed, checks = run(short_path, SHORT)
    assert checks.hold, checks.broken
    assert len(checks.broken) == 8
    assert found.answers
    assert found.paid
    assert killed["keeper"] + killed["front"] + killed["host"] > 0
