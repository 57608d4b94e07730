"""Cases for the conformance suite of stores: small vaults with many ties, and what is done with them."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import strategies as st

from discreet.retrieval.documents import Document
from discreet.retrieval.store import Piece, Store, Vector

SIZE = 6
"""The dimension of the vectors that the suite stores."""
MakeStore = Callable[[], Store]
Entry = tuple[int, str, list[int]]
"""A document: its number, its unit, and the direction of each chunk."""

# Few directions and units, so that ties are everywhere.
UNITS = st.sampled_from("abcdefgh")
ENTRIES = st.lists(st.tuples(st.integers(0, 11), UNITS, st.lists(st.integers(0, 3), max_size=3)), max_size=12)
STEPS = st.lists(st.one_of(ENTRIES, st.integers(0, 11), UNITS, st.none()), max_size=8)


class StoreFixtures:
    """The stores that a suite tests. A subclass overrides `make_store`, and may override `reopen`."""

    @pytest.fixture
    def make_store(self) -> MakeStore:
        """Return a function that makes an empty store for vectors of dimension `SIZE`, each with a key of its own."""
        raise NotImplementedError("Override the fixture `make_store`.")

    @pytest.fixture
    def reopen(self) -> Callable[[Store], Store]:
        """Return a function that opens a store's documents again, as another process does; by default, the same."""
        return lambda store: store


def direction(seed: int) -> Vector:
    """Return one of a few directions; no direction for a negative number."""
    # From a hash: no module of the library but the privacy package draws random numbers.
    digest = hashlib.blake2b(str(seed).encode(), digest_size=SIZE).digest()
    if seed < 0:  # an empty chunk
        return np.zeros(SIZE, dtype=np.float32)
    centred = np.frombuffer(digest, dtype=np.uint8) - 127.5
    return np.asarray(centred / np.linalg.norm(centred), dtype=np.float32)


def entry(name: int, unit: str, seeds: Sequence[int]) -> tuple[Document, list[Piece]]:
    """Return a document of a unit, with a piece for each direction."""
    # Pieces of one vector and different texts: ties within a unit.
    texts = [f"{unit} {seed} {place}" for place, seed in enumerate(seeds)]
    pieces = [Piece(text, direction(seed)) for text, seed in zip(texts, seeds, strict=True)]
    return Document(f"d{name}", unit, " ".join(texts)), pieces


def fill(store: Store, entries: Sequence[tuple[int, str, Sequence[int]]]) -> None:
    """Put documents in one batch."""
    with store.batch():
        for one in entries:
            store.put(*entry(*one))


def replay(store: Store, steps: Sequence[object]) -> None:
    """Put, remove and settle, step by step."""
    for step in steps:
        if isinstance(step, list):
            fill(store, step)
        elif isinstance(step, int):
            store.remove(f"d{step}")
        elif isinstance(step, str):
            store.remove_unit(step)
        else:
            store.settle()
