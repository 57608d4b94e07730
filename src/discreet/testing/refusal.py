"""Tests of refusal: a store whose search is not exact any more opens no vault, answers nothing and costs nothing.

An administrator can make the search of a database approximate behind the store's back: by an index of vectors, or by
settings of a collection. An approximate search finds units by the other units that are there, and no guarantee covers
it.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
import pytest

from discreet.algorithms.base import ANY_VOCABULARY, Algorithm, Query
from discreet.algorithms.dp_vote_rag import DPVoteRAG
from discreet.algorithms.murag import MuRAG
from discreet.errors import DiscreetError, StoreError
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Spending
from discreet.store.embedding import Told, Vectors
from discreet.store.protocol import Store
from discreet.store.sealed_corpus import SealedCorpus
from discreet.testing.algorithm import BUDGET, RecordingLedger, open_account
from discreet.testing.broken_stores import SIZE, MakeStore, StoreFixtures, direction, fill

NAMES = ("individual-anna", "individual-bert", "individual-cleo")
PAYMENTS = ((DPVoteRAG(voters=3), "corpus"), (MuRAG(similarity=-1.0), "unit"))
"""An algorithm that charges every unit, and one that charges the units that it found."""


@dataclass(frozen=True)
class AlwaysExact:
    """States that nothing outside a store can make its search inexact.

    Attributes:
        why: the reason. The report of pytest shows it.
    """

    why: str


MakeInexact = Callable[[Store], AbstractContextManager[None]]
"""Makes the search of an open store inexact during a block, from outside the store, and exact again after it."""


class Refusal(StoreFixtures):
    """Tests that a store refuses an inexact search. A subclass overrides `make_inexact`, and may override `reopen`."""

    @pytest.fixture
    def make_inexact(self) -> MakeInexact | AlwaysExact:
        """Return a context manager that makes a store inexact from outside, or `AlwaysExact` with the reason.

        A store that several things can make inexact has this fixture with parameters, one for each of them.
        """
        raise NotImplementedError(
            "Override the fixture `make_inexact`. Return a context manager that makes the search of a store inexact "
            "from outside, such as by an approximate index; or, if nothing can: AlwaysExact('the reason')."
        )

    def test_inexact_store_refuses_each_question(
        self, make_store: MakeStore, make_inexact: MakeInexact | AlwaysExact
    ) -> None:
        """Check that each way to search an open store raises a clear error, and returns nothing."""
        inexact, store = needed(make_inexact), filled(make_store)
        questions: list[Callable[[], object]] = [
            lambda: store.scored(direction(1)).nearest(2),
            lambda: store.scored(direction(1)).above(-2.0),
            lambda: store.scored(direction(1)).between(-2.0, 0.5),
            lambda: store.nearest_units(direction(1), 2),
            lambda: store.units_above(direction(1), -2.0),
        ]
        before = [[hit.unit for hit in store.scored(direction(1)).nearest(9)], store.nearest_units(direction(1), 9)]
        with inexact(store):
            for question in questions:
                check_refused(question)
        after = [[hit.unit for hit in store.scored(direction(1)).nearest(9)], store.nearest_units(direction(1), 9)]
        assert after == before, "The store answers otherwise once its search is exact again."

    def test_inexact_store_is_refused_at_opening(
        self,
        make_store: MakeStore,
        reopen: Callable[[Store], Store],
        make_inexact: MakeInexact | AlwaysExact,
    ) -> None:
        """Check that no other process opens the store either."""
        inexact, store = needed(make_inexact), filled(make_store)
        if reopen(store) is store:
            pytest.skip("Override the fixture `reopen`: it opens the store again.")
        with inexact(store):
            check_refused(lambda: reopen(store))
        assert reopen(store).nearest_units(direction(1), 9) == store.nearest_units(direction(1), 9)

    @pytest.mark.parametrize(("algorithm", "account"), PAYMENTS, ids=[account for _, account in PAYMENTS])
    def test_refused_question_costs_nothing(
        self, make_store: MakeStore, make_inexact: MakeInexact | AlwaysExact, algorithm: Algorithm, account: str
    ) -> None:
        """Check that a question that an inexact store refuses releases nothing, and takes nothing from any unit."""
        inexact, store = needed(make_inexact), filled(make_store)
        ledger = RecordingLedger(BUDGET)
        with inexact(store), pytest.raises(DiscreetError) as refusal:
            ask(store, ledger, algorithm, account)
        assert ledger.taken == Spending.nothing(), "A question was paid though the store refused it."
        assert isinstance(refusal.value, StoreError)
        ask(store, ledger, algorithm, account)
        assert ledger.taken != Spending.nothing()


def needed(make_inexact: MakeInexact | AlwaysExact) -> MakeInexact:
    """Return how a store becomes inexact; skip the test of a store that cannot."""
    if isinstance(make_inexact, AlwaysExact):
        assert make_inexact.why, "State why nothing can make the store's search inexact: AlwaysExact('the reason')."
        pytest.skip(f"The store is always exact: {make_inexact.why}")
    return make_inexact


def filled(make_store: MakeStore) -> Store:
    """Return a store with three units."""
    store = make_store()
    fill(store, [(number, name, [number]) for number, name in enumerate(NAMES, 1)])
    return store


def check_refused(question: Callable[[], object]) -> None:
    """Check that a call raises a `StoreError` that says what is wrong, and names no unit and no text."""
    try:
        answer = question()
    except StoreError as refusal:
        message = str(refusal)
        assert len(message.split()) >= 5, f"The refusal does not say what is wrong: {message!r}"
        assert not [name for name in NAMES if name in message], "The refusal names a unit."
    else:
        raise AssertionError(f"The search of the store is not exact, and it was not refused: {type(answer).__name__}.")


class _OneDirection:
    """An embedder to one vector."""

    name, dimension = "one direction", SIZE

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return the same vector for each text."""
        return np.stack([direction(1) for _ in texts])


def ask(store: Store, ledger: RecordingLedger, algorithm: Algorithm, account: str) -> object:
    """Ask a question about the documents of a store, as a vault does."""
    payer = open_account(account, ledger, algorithm.plan(BUDGET, ANY_VOCABULARY), seed=1)
    try:
        return algorithm.run(Query("What?"), SealedCorpus(store, _OneDirection()), ToyModel(["warm", "sand"]), payer)
    finally:
        payer.settle()
