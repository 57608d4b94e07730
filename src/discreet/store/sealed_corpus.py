"""The search of documents whose results are sealed; and the statement of a text that fits a question best.

Such a statement is a vote that needs no model. Its kind is compared with the question by the embedder, its subject with
the words of the question. All of it is a function of the question and of one text. The vectors of all kinds in the
vault are computed together, at the first question after a change of the documents, and not for the texts of one
question. Similarities are sums of whole numbers, so no other kind changes their rounding.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy.noise import Noise
from discreet.privacy.partition import (
    ADD_REMOVE_ONE,
    REPLACE_ONE,
    Member,
    RowShape,
    partition_to_rows,
    partition_to_voters,
)
from discreet.privacy.private import Change, Private
from discreet.store.codebook import Codebook
from discreet.store.documents import Passage
from discreet.store.embedding import Embedder, embed_questions, meaning
from discreet.store.protocol import Hit, Scored, Store, Vector
from discreet.store.unit_records import Built, TextStatement, UnitRecord, UnitRecords

LEAST_FIT = 0.2
"""The least similarity of a kind to a question: below it, a text says nothing about the question."""
SUBJECT_SHARE = 0.5
"""The part of the words of a question that a text must have."""

_ONE = 2**28
"""The length with which vectors of length one are compared: sums of their products fit into 64 bits."""

Whole = NDArray[np.int64]
Words = Callable[[str], Sequence[str]]
"""Returns the words of a phrase that have a meaning, without their endings."""
Asked = Callable[[str], bool]
"""Returns whether a kind of statement is the attribute that a question names."""
_PUBLIC = "statement"
"""A kind that is always embedded, so that there is always one."""
Found = Member[Hit]
"""A unit that a search found, with its key in the ledger. Its text is read when it is dealt to a voter."""


class SealedCorpus:
    """A store together with the embedder of its vectors. No public method returns a document in the clear.

    Attributes:
        secret: the key of the vault, from which the keys of units in the ledger are made.
    """

    def __init__(
        self, store: Store, embedder: Embedder, secret: bytes = b"", records: UnitRecords | None = None
    ) -> None:
        self._store, self._embedder, self.secret = store, embedder, secret
        self._records = records or UnitRecords(store)
        self._kinds = KindVectors(embedder)
        self._keys: dict[str, bytes] = {}
        self._members: tuple[Built | None, tuple[Member[UnitRecord], ...]] = (None, ())

    def top_units(self, question: str, voters: int, units_per_voter: int = 1) -> Private[tuple[Passage, ...]]:
        """Return the passages of the nearest units, dealt to voters in a uniformly random partition, sealed.

        There are always `voters` shares of `units_per_voter` seats. If the vault has fewer units, seats stay empty.
        No output depends on the number of empty seats.
        """
        return self.partition_to_voters(self.nearest(question, voters * units_per_voter), voters, units_per_voter)

    def nearest(self, question: str, count: int) -> Private[Found]:
        """Return the nearest units, nearest first, sealed; for a public number of seats."""
        return self._sealed(self._scored(question).nearest(count), REPLACE_ONE)

    def above(self, question: str, similarity: float) -> Private[Found]:
        """Return all units whose similarity to the question is at least a public threshold, nearest first, sealed.

        The presence of a unit in the result is independent of the other units.
        """
        return self._sealed(self._scored(question).above(similarity))

    def bins(self, question: str, edges: Sequence[float]) -> Iterator[Private[Found]]:
        """Yield the units by similarity: those above the first edge, then those between it and the second, and so on.

        All bins show one state of the store, and the vectors are read once. A unit is in one bin at most. The edges are
        public, the highest first.
        """
        scored = self._scored(question)
        for number, edge in enumerate(edges):
            yield self._sealed(scored.between(edge, edges[number - 1]) if number else scored.above(edge))

    def partition_to_voters(
        self, found: Private[Found], voters: int, units_per_voter: int
    ) -> Private[tuple[Passage, ...]]:
        """Deal the first units to voters, in a uniformly random partition (MuRAG's Algorithm 3). Return the passages.

        Only the texts of dealt units are read. A unit that was erased after the search leaves its seat empty, as if
        the vault had fewer units. No other unit takes the seat.
        """
        return partition_to_voters(found, voters, units_per_voter, lambda hit: hit.unit).map_batch(self._read)

    def partition_to_rows(self, found: Private[Found], rows: RowShape, noise: Noise) -> Private[tuple[Passage, ...]]:
        """Give each found unit a row of its own, or none if its coin says so. Return the passage of each row, sealed.

        There are always `rows.number` rows, most with one passage or none. Only the texts of units in rows are read. A
        unit that was erased after the search leaves its row empty.
        """
        return partition_to_rows(found, rows, noise).map_batch(self._read)

    def records(self) -> Private[Member[UnitRecord]]:
        """Return what is known of each unit, sealed."""
        built = self._records.now()
        if self._members[0] is not built:
            keys = {unit: self._keys.get(unit) or unit_key(unit, self.secret) for unit in built.records}
            self._members, self._keys = (built, tuple(map(Member, keys.values(), built.records.values()))), keys
        return Private(self._members[1], ADD_REMOVE_ONE)

    @property
    def tells_documents(self) -> bool:
        """Whether the store tells of which document each text is: public."""
        return self._records.tells_documents

    @property
    def schema(self) -> Codebook | None:
        """The schema under which the texts were read: public; None if there is none."""
        return self._records.schema

    def stated(
        self,
        question: str,
        documents: Private[tuple[Passage, ...]],
        words: Words,
        is_asked: Asked | None = None,
    ) -> Private[tuple[Passage, ...]]:
        """Return the passages, each with the value of its statement that fits the question best, sealed.

        Args:
            question: the question.
            documents: the passages of each voter.
            words: returns the words of a phrase that have a meaning.
            is_asked: returns whether a kind is the attribute that the question names; None if it names none.
        """
        looked = self._records.looked()
        kinds = self._kinds.of(looked.kinds, looked.version)
        fit = StatementFit(question, self._kinds.embed(question), kinds, words, is_asked)

        def read(own: tuple[Passage, ...]) -> tuple[Passage, ...]:
            return tuple(replace(one, stated=fit.value(one.text, looked.of(one.unit, one.text))) for one in own)

        return documents.read(read, ())

    def texts(self, found: Private[Hit]) -> Private[str]:
        """Return the text of each found unit, sealed; an empty text if the unit was erased after the search."""
        return found.map_batch(lambda hits: [near.text if near else "" for near in self._store.passages(hits)])

    def embed(self, question: str) -> Vector:
        """Return the vector of a question."""
        vector: Vector = embed_questions(self._embedder, [question])[0]
        return vector

    def mean(self, phrase: str) -> Vector:
        """Return the vector of the meaning of a public phrase, such as the name of an attribute."""
        return self._kinds.embed(phrase)

    def _scored(self, question: str) -> Scored:
        """Return all units with their similarity to the question, in the clear."""
        return self._store.scored(self.embed(question))

    def _sealed(self, hits: Sequence[Hit], change: Change = ADD_REMOVE_ONE) -> Private[Found]:
        return Private([Member(unit_key(hit.unit, self.secret), hit) for hit in hits], change)

    def _read(self, shares: Sequence[tuple[Hit, ...]]) -> list[tuple[Passage, ...]]:
        """Return the passages of each share, in an order that depends on these passages alone."""
        passages = iter(self._store.passages([hit for share in shares for hit in share]))
        read = [[near for near in islice(passages, len(share)) if near] for share in shares]
        return [tuple(sorted(share, key=lambda passage: (passage.text, passage.unit))) for share in read]


def unit_key(unit: str, secret: bytes) -> bytes:
    """Return the name of a unit in the ledger: 16 bytes that reveal nothing about it without the vault's key."""
    return hashlib.blake2b(unit.encode(), key=secret, digest_size=16).digest()


class KindVectors:
    """The vectors of the kinds of statements, kept until the documents change."""

    def __init__(self, embedder: Embedder) -> None:
        self._given = embedder
        self._state: object = None
        self._vectors: dict[str, Whole] = {}

    @cached_property
    def _embedder(self) -> Embedder:
        """The embedder of meanings; the given one if it knows only words. It is loaded at first use."""
        try:
            return meaning(self._given)
        except UsageError:
            return self._given

    def of(self, kinds: Iterable[str], state: object) -> dict[str, Whole]:
        """Return the vector of each kind in whole numbers; `state` changes with the documents.

        Which kinds are new depends on all texts, and may depend on one unit. So the embedder is called each time: its
        failure must not tell whether there was a new kind.
        """
        changed = self._state is None or self._state != state
        names = sorted(set(kinds) - {""}) if changed else list(self._vectors)
        own = {name: self._vectors[name] for name in names if name in self._vectors}
        fresh = [name for name in names if name not in own]
        self._vectors = own | dict(zip(fresh, map(_whole, self._embed_anew(fresh)), strict=True))
        self._state = state
        return self._vectors

    def _embed_anew(self, kinds: Sequence[str]) -> Iterable[Vector]:
        return self._embedder.embed([*kinds, _PUBLIC])[:-1]

    def embed(self, question: str) -> Vector:
        """Return the vector of a question."""
        vector: Vector = embed_questions(self._embedder, [question])[0]
        return vector


class StatementFit:
    """The fit of statements to one question.

    Args:
        question: the question.
        vector: its vector.
        kinds: the vector of each kind of statement, in whole numbers.
        words: the words of a phrase that have a meaning.
        is_asked: whether a kind is the attribute that the question names; None if it names none.
    """

    def __init__(
        self, question: str, vector: Vector, kinds: dict[str, Whole], words: Words, is_asked: Asked | None = None
    ) -> None:
        self._words = words
        self._is_asked = is_asked
        self._asked = frozenset(words(question))
        whole = _whole(vector)
        self._fit = {kind: int(np.dot(whole, own)) / _ONE**2 for kind, own in kinds.items()}

    def value(self, text: str, statements: Sequence[TextStatement]) -> str:
        """Return the value of the statement that fits best; "" if the text is about another subject, or none fits.

        A kind of which the question itself has a value is given, and not asked for. Such a text has the subject.
        """
        statements = [one for one in statements if not one.negated]
        given = {one.attribute for one in statements if self._is_given(one.value)}
        fitting = [one for one in statements if one.attribute in self._fit and one.attribute not in given]
        best = next((one for one in fitting if self._is_asked and self._is_asked(one.attribute)), None)
        if self._is_asked is None:
            best = max(fitting, key=lambda one: self._fit[one.attribute], default=None)
            best = best if best and self._fit[best.attribute] >= LEAST_FIT else None
        if best is None or not (given or self._has_subject(text, best)):
            return ""
        return best.value

    def _is_given(self, value: str) -> bool:
        words = set(self._words(value))
        return bool(words) and words <= self._asked

    def _has_subject(self, text: str, best: TextStatement) -> bool:
        wanted = self._asked - set(self._words(best.attribute))
        there = set(self._words(text))
        return len(wanted & there) >= SUBJECT_SHARE * len(wanted)


def _whole(vector: Vector) -> Whole:
    """Return a vector of length one in whole numbers. A number that is none, of a faulty embedder, becomes 0."""
    return np.rint(np.clip(np.nan_to_num(vector.astype(np.float64)), -1, 1) * _ONE).astype(np.int64)
