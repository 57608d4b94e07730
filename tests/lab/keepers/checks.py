"""What must hold after a run: askers, accounts and ledgers know the same questions and the same payments."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from discreet.config import read_config
from discreet.ledger.ledger import LogLedger, open_ledger
from discreet.ledger.records import QuestionRecord
from discreet.privacy.accounting import Spending
from discreet_server.accounts import Accounts
from discreet_server.accounts.books import KeyQuestion as Reserved
from tests.lab.keepers.askers import ANSWERED, Asked, Reply
from tests.lab.keepers.setting import Setting


@dataclass
class Found:
    """What the parts of a server know after a run."""

    ledgers: dict[str, LogLedger]
    records: dict[str, QuestionRecord]
    rows: dict[str, Reserved]
    asked: list[Asked]
    mark: Callable[[str], str]

    @property
    def paid(self) -> set[str]:
        """The ids of the questions that any unit has paid for."""
        return {one for one, record in self.records.items() if record.spending != Spending.nothing()}

    @property
    def answers(self) -> dict[str, Reply]:
        """The replies with an answer, by the id of the question."""
        return {reply.told["question_id"]: reply for one in self.asked for reply in one.replies}


@dataclass
class Checks:
    """What holds, and what does not."""

    broken: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, broken: Iterable[str]) -> None:
        """Add a check with what breaks it."""
        self.broken[name] = sorted(broken)

    @property
    def hold(self) -> bool:
        """Whether all hold."""
        return not any(self.broken.values())


def gather(setting: Setting, asked: Sequence[Asked]) -> Found:
    """Return what askers, accounts and ledgers know."""
    ledgers = {name: open_ledger(path, read_config(path)) for name, path in setting.vaults.items()}
    records = {record.id: record for ledger in ledgers.values() for record in ledger.questions()}
    rows = {row.id: row for row in setting.accounts.questions()}
    return Found(ledgers, records, rows, list(asked), partial(setting.accounts.mark, "name"))


def check(found: Found, accounts: Accounts) -> Checks:
    """Return what holds."""
    checks = Checks()
    paid, answers = found.paid, found.answers
    checks.add("every receipt is in the ledger with its cost", _without_payment(found))
    checks.add("no unit exceeds its grant", _beyond_grant(found))
    checks.add("no key exceeds its cap", _beyond_cap(found, accounts))
    checks.add("each odometer covers what the ledger has for the key", _uncovered(found, accounts))
    checks.add("every payment belongs to a question of a key", paid - found.rows.keys())
    checks.add("payments are those of receipts and of lost replies", _unexplained(found, paid - answers.keys()))
    checks.add("no request was paid twice", _twice(found))
    checks.add("a request that was sent again got the same answer", _other_answer(found.asked))
    return checks


def _without_payment(found: Found) -> Iterable[str]:
    """Yield the questions whose receipt the ledger does not have, or has with another cost."""
    for question, reply in found.answers.items():
        receipt, record, row = reply.told["receipt"], found.records.get(question), found.rows.get(question)
        if receipt["payment"] == "nobody" or not receipt["epsilon"]:
            if question in found.paid:
                yield question
            continue
        if record is None or record.spending == Spending.nothing() or row is None:
            yield question
            continue
        budget = found.ledgers[row.vault].budget
        cost = min(budget.spent(record.spending), receipt["epsilon"])
        settled = row.settled is None or row.epsilon == cost or row.stopped == "interrupted"
        # What the ledger has cannot amount to more than the receipt says.
        if not settled or record.spending.epsilon(receipt["delta"]) > receipt["epsilon"] * (1 + 1e-9):
            yield question


def _beyond_grant(found: Found) -> Iterable[str]:
    for name, ledger in found.ledgers.items():
        for reading, count in ledger.unit_balances():
            if not ledger.budget.admits_state(reading):
                yield f"{count} units of {name}"


def _beyond_cap(found: Found, accounts: Accounts) -> Iterable[str]:
    for key in accounts.list_keys():
        meter = accounts.odometer(key.id)
        if not meter.budget.admits(meter.spending) or not meter.budget.admits(_of_key(found, key.id)):
            yield key.id


def _uncovered(found: Found, accounts: Accounts) -> Iterable[str]:
    """Yield the keys that the ledger charges more than their odometer; if no reply was lost, a different sum."""
    unsure = {row.key for row in found.rows.values() if row.settled is None or row.stopped not in _SURE}
    for key in accounts.list_keys():
        meter, sum_of_ledger = accounts.odometer(key.id), _of_key(found, key.id)
        exact = key.id in unsure or sum_of_ledger == meter.spending
        if not exact or not sum_of_ledger.within(meter.spending):
            yield key.id


_SURE = ("end", "public", "limit", "")
"""How a question ends whose cost its front knew."""


def _of_key(found: Found, key: str) -> Spending:
    own = (record.spending for one, record in found.records.items() if one in found.rows and found.rows[one].key == key)
    return sum(own, Spending.nothing())


def _unexplained(found: Found, without_receipt: Iterable[str]) -> Iterable[str]:
    """Yield the payments without a receipt whose request got another answer, or was refused as free."""
    by_name = {(one.key, found.mark(one.name)): one for one in found.asked}
    for question in without_receipt:
        row = found.rows.get(question)
        request = by_name.get((row.key, row.name or "")) if row is not None else None
        if request is None or request.outcome == ANSWERED:
            yield question


def _twice(found: Found) -> Iterable[str]:
    paid = found.paid
    names = Counter((row.key, row.name) for one, row in found.rows.items() if one in paid)
    return [f"{key} {name}" for (key, name), count in names.items() if count > 1]


def _other_answer(asked: Iterable[Asked]) -> Iterable[str]:
    for one in asked:
        told = [(reply.told["question_id"], reply.told["replayed"], reply.text) for reply in one.replies]
        if len({(question, text) for question, _, text in told}) > 1:
            yield f"{one.key} {one.name}: {told}"
