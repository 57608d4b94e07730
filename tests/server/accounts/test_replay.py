"""The same request: it joins a question in flight, or gets the stored reply, and pays once."""

import pytest

from discreet.server.accounts import Accounts, InFlight, Mismatch, Replay, Reservation, questions
from discreet.server.accounts.questions import find_reply
from discreet.server.wire import UnitCharge
from tests.server.accounts.helpers import DAY, Bank, pure

TEN_MINUTES = 600.0


def test_content_is_replayed_for_ten_minutes(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(2), "same")
    bank.clock.now += 5_000  # a long answer: the minutes count from its end
    bank.accounts.settle(bank.last, pure(1), {"n": 1})
    bank.clock.now += TEN_MINUTES - 0.001
    assert isinstance(bank.accounts.recall(key.id, "same"), Replay)
    bank.clock.now += 0.001
    assert bank.accounts.recall(key.id, "same") is None


def test_idempotency_key_is_known_for_a_day(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(2), "same", "name")
    bank.accounts.settle(bank.last, pure(1), {"n": 1})
    bank.clock.now += DAY - 0.001
    assert isinstance(bank.accounts.recall(key.id, "same", "name"), Replay)
    assert bank.accounts.recall(key.id, "other", "name") == Mismatch()
    bank.clock.now += 0.001
    assert bank.accounts.recall(key.id, "same", "name") is None
    assert bank.accounts.recall(key.id, "other", "name") is None


def test_anew_pays_again_but_joins_what_is_in_flight(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(2), "same")
    question = bank.last
    assert bank.ask(key, pure(2), "same", anew=True) == InFlight(question)
    bank.accounts.settle(question, pure(2), {"n": 1})
    assert isinstance(bank.ask(key, pure(2), "same", "name", anew=True), Reservation)
    bank.accounts.settle(bank.last, pure(2), {"n": 2})
    assert isinstance(bank.ask(key, pure(2), "same", "name", anew=True), Replay)
    assert bank.accounts.recall(key.id, "same") == Replay(bank.last[:-1] + f"{bank.count - 1:x}", {"n": 2})


def test_keys_do_not_share_replies(bank: Bank) -> None:
    first, second = bank.key(), bank.key()
    bank.ask(first, pure(2), "same", "name")
    bank.accounts.settle(bank.last, pure(1), {"n": 1})
    assert bank.accounts.recall(second.id, "same", "name") is None
    assert bank.accounts.receipt(second.id, bank.last) is None


def test_question_without_a_reply_is_asked_again(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(2), "same", "name")
    bank.accounts.settle(bank.last, UnitCharge.nothing())
    assert isinstance(bank.ask(key, pure(2), "same", "name"), Reservation)


def test_replies_are_deleted_after_a_day(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(2), "same")
    bank.accounts.settle(bank.last, pure(1), {"text": "Winter Hand was released"})
    kept = []
    for _ in range(2):
        bank.clock.now += DAY - 1
        bank.accounts.forget()
        with bank.accounts.reading() as found:
            kept.append(int(find_reply(found, bank.last) is not None))
        bank.clock.now += 2
    assert kept == [1, 0]
    assert len(bank.accounts.receipts(key.id)) == 1


def test_receipts_are_paged_newest_first(bank: Bank) -> None:
    key, ids = bank.key(), []
    for number in range(5):
        bank.clock.now += number % 2  # two of them at the same time
        bank.ask(key, pure(0.5))
        ids.append(bank.last)
    first = bank.accounts.receipts(key.id, limit=2)
    rest = bank.accounts.receipts(key.id, before=str(first[-1]["question_id"]))
    assert [one["question_id"] for one in [*first, *rest]] == ids[::-1]
    assert bank.accounts.receipts(key.id, before="unknown") == []
    assert all(one["epsilon"] == pytest.approx(0.5) and not one["settled"] for one in first)


def test_accounts_of_a_version_that_counted_nothing_are_taken_over(bank: Bank) -> None:
    key = bank.key()
    with bank.accounts.writing() as found:
        questions.COUNTS.drop(found.connection)
    assert Accounts(bank.path, clock=bank.clock).count_unpaid(key.id) is None
