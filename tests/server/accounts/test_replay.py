"""The same request: it joins a question in flight, or gets the stored reply, and pays once."""

import pytest
from sqlalchemy import select

from discreet_server.accounts import Accounts, InFlight, Mismatch, RateLimited, Replay, Reservation, questions
from discreet_server.accounts.books import append
from discreet_server.accounts.questions import find_reply
from discreet_server.wire import UnitCharge
from tests.server.accounts.helpers import DAY, Bank, pure

TEN_MINUTES = 600.0


def test_same_content_joins_and_is_replayed(bank: Bank) -> None:
    key = bank.key()
    assert isinstance(bank.ask(key, pure(2), "same"), Reservation)
    question = bank.last
    assert bank.ask(key, pure(2), "same") == InFlight(question)
    assert bank.accounts.recall(key.id, "same") == InFlight(question)
    bank.accounts.settle(question, pure(1), {"text": "Winter Hand"})
    assert bank.ask(key, pure(2), "same") == Replay(question, {"text": "Winter Hand"})
    assert bank.accounts.odometer(key.id).spent == pytest.approx(1)


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


def test_new_idempotency_key_finds_the_same_content(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(2), "same", "one")
    bank.accounts.settle(bank.last, pure(1), {"n": 1})
    assert bank.ask(key, pure(2), "same", "two") == Replay(bank.last[:-1] + f"{bank.count - 1:x}", {"n": 1})


def test_idempotency_key_in_flight(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(2), "same", "name")
    question = bank.last
    assert bank.ask(key, pure(2), "same", "name") == InFlight(question)
    assert bank.ask(key, pure(2), "other", "name") == Mismatch()


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


def test_reply_is_kept_if_the_clock_goes_back(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(2), "same", "name")
    bank.clock.now -= 7 * DAY
    bank.accounts.settle(bank.last, pure(1), {"n": 1})
    assert isinstance(bank.accounts.recall(key.id, "same"), Replay)
    assert isinstance(bank.accounts.recall(key.id, "same", "name"), Replay)


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


def test_question_that_was_never_reserved_gets_no_name(bank: Bank) -> None:
    """A row about it would be one that no process could read."""
    key = bank.key()
    before = bank.accounts.reached().row
    assert bank.accounts.join(key.id, "f" * 32, "same", "name") is None
    assert bank.accounts.reached().row == before
    assert bank.accounts.recall(key.id, "same", "name") is None
    bank.ask(key, pure(1), "same", "name")
    assert Accounts(bank.path).recall(key.id, "same", "name") == InFlight(bank.last)


def test_row_of_such_a_name_is_passed_over(bank: Bank) -> None:
    """Versions before wrote it."""
    key = bank.key()
    with bank.accounts.writing() as found:
        append(found, "join", "f" * 32, {"name": "mark", "asked": bank.clock()})
    for accounts in (bank.accounts, Accounts(bank.path)):
        assert accounts.odometer(key.id).questions == 0


def test_name_of_a_request_that_joined_finds_that_answer(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(2), "same", "first", anew=True)
    question = bank.last
    assert bank.accounts.join(key.id, question, "same", "second") is None
    assert bank.accounts.recall(key.id, "same", "second", anew=True) == InFlight(question)
    bank.accounts.settle(question, pure(1), {"n": 1})
    assert bank.accounts.recall(key.id, "same", "second", anew=True) == Replay(question, {"n": 1})
    assert bank.accounts.recall(key.id, "other", "second") == Mismatch()
    assert bank.accounts.recall(key.id, "same", "third", anew=True) is None
    bank.ask(key, pure(2), "same", "third", anew=True)
    bank.accounts.settle(bank.last, pure(1), {"n": 2})
    assert bank.accounts.join(key.id, question, "same", "third") == Replay(bank.last, {"n": 2})
    assert bank.accounts.recall(key.id, "same", "second", anew=True) == Replay(question, {"n": 1})
    bank.clock.now += DAY + 1
    bank.accounts.forget()
    assert bank.accounts.recall(key.id, "same", "second", anew=True) is None


def test_what_is_free_is_counted_in_the_accounts(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes count together, a restart forgets nothing, and a minute later all may be done again."""
    monkeypatch.setattr(questions, "UNPAID", 3)
    key, other = bank.key(), Accounts(bank.path, clock=bank.clock)
    for accounts in (bank.accounts, other, bank.accounts):
        bank.clock.now += 10
        assert accounts.count_unpaid(key.id) is None
    assert other.count_unpaid(key.id) == RateLimited(40)
    assert Accounts(bank.path, clock=bank.clock).recall(key.id, "new") == RateLimited(40)
    assert bank.accounts.recall(bank.key().id, "new") is None
    assert bank.accounts.count_sign_in(key.id) is None
    assert [bank.accounts.is_first(key.id, "code") for _ in range(2)] == [True, False]
    bank.clock.now += 40
    assert other.recall(key.id, "new") is None
    assert other.count_unpaid(key.id) is None
    bank.clock.now += DAY
    bank.accounts.forget()
    with bank.accounts.reading() as found:
        assert found.connection.execute(select(questions.COUNTS)).all() == []


def test_accounts_of_a_version_that_counted_nothing_are_taken_over(bank: Bank) -> None:
    key = bank.key()
    with bank.accounts.writing() as found:
        questions.COUNTS.drop(found.connection)
    assert Accounts(bank.path, clock=bank.clock).count_unpaid(key.id) is None
