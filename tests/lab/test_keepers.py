"""Several keepers: a short run with faults, and links that are cut in a payment."""

import json
import subprocess
import sys
from pathlib import Path

from tests.guarantee.ledger.links import AFTER, BEFORE, LATE
from tests.lab.keepers.askers import ANSWERED, REFUSED, UNKNOWN, Asked, Reply, note
from tests.lab.keepers.checks import _other_answer
from tests.lab.keepers.killed import Plan, run
from tests.lab.keepers.networks import permitted

SHORT = Plan(seconds=15, keepers=2, askers=8, keys=4, seed=3, pause=(1.0, 3.0), late=5.0)


def answered(question: str, text: str) -> Reply:
    told = {"question_id": question, "replayed": False}
    return Reply(200, {"usage": {"discreet": told}, "choices": [{"message": {"content": text}}]}, retry=False)


def test_request_whose_reply_was_lost_is_not_said_to_be_refused() -> None:
    sure, unsure = Asked("key", "a", "v"), Asked("key", "b", "v")
    refused = Reply(402, {"error": {"code": "key_budget_exhausted"}}, retry=False)
    note(sure, refused)
    for reply in (Reply(0, {}), refused):
        note(unsure, reply)
    assert (sure.outcome, unsure.outcome) == (REFUSED, UNKNOWN)
    note(unsure, answered("1", "yes"))
    assert unsure.outcome == ANSWERED


def test_other_answer_to_the_same_request_is_found() -> None:
    same, other = Asked("key", "a", "v"), Asked("key", "b", "v")
    for one, question in ((same, "1"), (same, "1"), (other, "1"), (other, "2")):
        note(one, answered(question, "yes"))
    (found,) = _other_answer([same, other])
    assert found.startswith("key b")


def test_killed_keepers_and_database_lose_and_double_no_payment(short_path: Path) -> None:
    found, killed, checks = run(short_path, SHORT)
    assert checks.hold, checks.broken
    assert len(checks.broken) == 8
    assert found.answers
    assert found.paid
    assert killed["keeper"] + killed["front"] + killed["host"] > 0


def test_link_cut_in_a_payment_pays_at_most_once(short_path: Path) -> None:
    """With a network namespace for each keeper where they are permitted: a cut then loses packets, as a real one."""
    command = [sys.executable, "-m", "tests.lab.cut_payment", str(short_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["kind"] == ("namespaces" if permitted() else "proxy")
    assert found["hold"], found["broken"]
    told = found["told"]
    assert told[BEFORE] == ["503 ledger_unavailable", "answer", "1"]
    assert told[AFTER] == told[LATE] == ["500 interrupted", "500 interrupted", "1"]
