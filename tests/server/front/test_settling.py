"""Settlements that the accounts do not take at once."""

import asyncio
from pathlib import Path
from typing import Any

from discreet_server.accounts import Accounts, AccountsError, Limits, Replay
from discreet_server.front.asking import Settlements
from tests.server.accounts.helpers import GRANT, VAULT, pure

QUESTION = "1" * 32


class Away(Accounts):
    """Accounts whose database is away for some settlements."""

    left = 2

    def settle(self, *values: Any, **named: Any) -> Any:
        if self.left:
            self.left -= 1
            raise AccountsError("The accounts cannot be used.")
        return super().settle(*values, **named)


def opened(folder: Path) -> tuple[Away, str]:
    accounts = Away(folder / "accounts.sqlite")
    accounts.grant(VAULT, GRANT)
    key, _ = accounts.issue("ana", [VAULT], Limits(10.0))
    accounts.reserve(key.id, QUESTION, pure(2.0), vault=VAULT, model=VAULT, fingerprint="f")
    return accounts, key.id


async def wait_for(settlements: Settlements) -> None:
    for _ in range(1000):
        if not len(settlements):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("It was not settled within ten seconds.")


def test_settlement_succeeds_when_the_accounts_are_back(tmp_path: Path) -> None:
    accounts, key = opened(tmp_path)

    async def test() -> None:
        settlements = Settlements(accounts, first_wait=0.01)
        await settlements.settle(QUESTION, pure(0.5), {"text": "yes"}, "end")
        assert len(settlements) == 1
        assert accounts.odometer(key).spending == pure(2.0).spending
        await wait_for(settlements)

    asyncio.run(test())
    assert accounts.odometer(key).spending == pure(0.5).spending
    assert accounts.recall(key, "f") == Replay(QUESTION, {"text": "yes"})


def test_reservation_of_a_question_that_was_not_asked_comes_back(tmp_path: Path) -> None:
    accounts, key = opened(tmp_path)

    async def test() -> None:
        settlements = Settlements(accounts, first_wait=0.01)
        settlements.release(QUESTION)
        settlements.release("2" * 32)  # it was never reserved
        await wait_for(settlements)

    asyncio.run(test())
    assert accounts.odometer(key).spending == pure(0.0).spending
    assert accounts.recall(key, "f") is None
