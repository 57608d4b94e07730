"""A question whose process is killed in the middle of its flight: the next asker goes on; nothing unpaid, or twice."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.algorithms.base import Answer
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import FilterState, Spending
from discreet.registry import Consensus, MuRAG
from discreet.store.documents import Document
from discreet.store.embedding import HashingEmbedder
from discreet.vault import Vault
from tests.guarantee.ledger.conftest import server, url
from tests.guarantee.ledger.test_flights import ended, forked
from tests.guarantee.ledger.test_unit_faults import parts_of

__all__ = ["server", "url"]  # fixtures

ASKED = "numb thumbs disease?"
VOTE = MuRAG(inner=Consensus(voters=25, max_tokens=4, epsilon=8, sentence=False), similarity=-1, epsilon=8)
UNITS = 30
Pause = Callable[[], None]


class Embedding(HashingEmbedder):
    """Pauses before it embeds for the n-th time."""

    def __init__(self, time: int, pause: Pause) -> None:
        self.left, self.pause = time, pause

    def embed(self, texts: Sequence[str], progress: object = None) -> np.ndarray:
        self.left -= 1
        if self.left == 0:
            self.pause()
        return super().embed(texts)


class Starting(ToyModel):
    """Pauses before it answers."""

    def __init__(self, pause: Pause) -> None:
        super().__init__()
        self.pause = pause

    def start(self, *args: Any, **kwargs: Any) -> Any:
        self.pause()
        return super().start(*args, **kwargs)


# By moment: what pauses there, and whether units have paid by then, and whether the question had ended.
MOMENTS: dict[str, tuple[Callable[[Path, Pause], Vault], bool, bool]] = {
    "before units are admitted": (
        lambda path, pause: Vault.open(path, embedder=Embedding(1, pause), model=ToyModel()),
        False,
        False,
    ),
    "after they paid": (lambda path, pause: Vault.open(path, model=Starting(pause)), True, False),
    "before the answer is kept": (
        lambda path, pause: Vault.open(path, embedder=Embedding(2, pause), model=ToyModel()),
        True,
        True,
    ),
}


@pytest.fixture(params=["sqlite", "postgres"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A vault."""
    where = request.getfixturevalue("url") if request.param == "postgres" else ""
    vault = Vault.create(tmp_path / "v", epsilon=50, delta=1e-6, embedder="hashing", ledger=where)
    vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs say: winterhand .") for n in range(UNITS))
    return vault.path


def ask(path: Path) -> Answer:
    vault = Vault.open(path, model=ToyModel())
    return vault.ask(ASKED, VOTE)


@pytest.mark.parametrize("moment", MOMENTS)
def test_who_waits_goes_on_when_the_asker_is_killed(path: Path, moment: str) -> None:
    open_pausing, paid, over = MOMENTS[moment]
    read, write = os.pipe()

    def pause() -> None:
        os.write(write, b".")
        signal.pause()

    def asker() -> None:
        open_pausing(path, pause).ask(ASKED, VOTE)

    killed = forked(asker)
    os.read(read, 1)
    found: list[Answer] = []
    waiting = [threading.Thread(target=lambda: found.append(ask(path))) for _ in range(3)]
    for one in waiting:
        one.start()
    waiting[0].join(0.5)
    assert not found  # they wait for what the asker is going to release
    os.kill(killed, signal.SIGKILL)
    assert ended(killed) == -signal.SIGKILL
    for one in waiting:
        one.join(60)
    assert [one.answer for one in found] == ["winterhand"] * 3
    receipts = [one.receipt for one in found if one.receipt]
    assert sorted(receipt.payment for receipt in receipts) == ["each unit that took part", "nobody", "nobody"]

    ledger = Vault.open(path).ledger
    first, second = ledger.questions()
    assert (first.stopped, second.stopped) == ("end" if over else None, "end")
    assert len(parts_of(ledger)) == 1 + paid  # which checks that each unit's balance is the sum of its parts
    spent = next(receipt.spending for receipt in receipts if receipt.payment != "nobody")
    assert spent is not None
    assert ledger.spent_at_most([second.id]) == spent
    # What the killed question reserved stays paid: its answer may have been seen.
    most = VOTE.plan(ledger.budget, 1000).max_cost
    before = (spent if over else most) if paid else Spending.nothing()
    assert ledger.spent_at_most([first.id]) == before
    assert ledger.unit_balances() == [(state(ledger, before) + state(ledger, spent), UNITS)]
    assert ask(path).receipt.payment == "nobody"  # type: ignore[union-attr]
    assert not list(path.glob("flight.*"))


def state(ledger: Any, spent: Spending) -> FilterState:
    found: FilterState = ledger.budget.filter_state(spent)
    return found
