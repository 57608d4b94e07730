"""BROKEN on purpose: mechanisms and algorithms with one mistake each, which an audit must flag.

None of them is private. Each mistake was made before, in a paper, a library or a first draft. Each mutant has the
claim of the sound version. Only the audit and its tests import this file, and no vault can name its content.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np

from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.costs import BoundedRange, Cost
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.mechanisms.counting import KeywordCounts
from discreet.privacy.mechanisms.selection import (
    ExponentialMechanism,
    GapChoice,
    LimitedDomain,
    SparseVector,
    StableSet,
    Words,
    by_count,
    gap_sensitivity,
    gap_to_pass,
    vote_scale,
)
from discreet.privacy.noise import Noise
from discreet.privacy.partition import REPLACE_ONE, Member, RowShape, together
from discreet.privacy.private import Change, Private
from discreet.registry import Consensus, MuRAG
from discreet.store.documents import Passage
from discreet.store.sealed_corpus import Asked, Found, SealedCorpus
from discreet.store.unit_records import Fields, TextStatement, UnitRecord, values_in
from discreet.synthesis.dp_facts import DPFacts, FactsPlan
from discreet_lab.attacks.rates import Key
from discreet_lab.audit.algorithms import CODE, PAIRS, QUESTIONS, AlgorithmCase, AuditSetting, settings
from discreet_lab.audit.broken_noise import Quiet
from discreet_lab.audit.case import DATE, DELTA, FAILURE, YEAR, Case, VaultPair, rho_of
from discreet_lab.audit.corpora import PAIRS as CORPUS_PAIRS
from discreet_lab.audit.corpora import CorpusCase, SmallFacts, corpora
from discreet_lab.audit.mechanisms import CHANGES, MechanismCase, Stream, mechanism_cases
from discreet_lab.audit.vote_mutants import vote_twins

REPLACE, ADD_REMOVE = CHANGES
QUIET, STILL = 1 / 3, 1 / 10
"""The part of the noise that a mutant of a mechanism, or of an algorithm, has."""


# -- mechanisms ------------------------------------------------------------------------------------------------------


class BrokenRelation(ExponentialMechanism):
    """BROKEN: charged for an added or removed vote, although a vote is replaced."""

    def cost(self, change: Change) -> Cost:
        """Return half of the true cost."""
        return super().cost(ADD_REMOVE)


class BrokenLimitedDomain(LimitedDomain):
    """BROKEN: charged by its theorem, which is for an added or removed vote, although votes are replaced."""

    def cost(self, change: Change) -> Cost:
        """Return half of the true cost."""
        return super().cost(ADD_REMOVE)


class BrokenGap(GapChoice):
    """BROKEN: as printed for DP-KSA, with Gumbel(2/epsilon): one gap may rise by two while another falls by two."""

    def cost(self, change: Change) -> Cost:
        """Return half of the true cost."""
        return BoundedRange(gap_sensitivity(change) / self.scale)


class BrokenOrder(StableSet):
    """BROKEN: the words in the order of their counts, which is as private as the counts."""

    def draw(self, shares: Sequence[Words], noise: Noise) -> tuple[str, ...] | None:
        """Return the words in the order of the counts."""
        released = super().draw(shares, noise)
        return released and tuple(word for word, _ in by_count(shares)[: self.size])


class BrokenDomain(KeywordCounts):
    """BROKEN: all words that occur are released, with noisy counts; a word's presence reveals a unit that has it."""

    def draw(self, shares: Sequence[Any], noise: Noise) -> dict[str, int]:
        """Return noisy counts without a threshold."""
        counts = Counter(word for share in shares for word in sorted(set(share))[: self.words])
        return {word: counts[word] + noise.gaussian(self.sigma) for word in sorted(counts)}


class BrokenTies(KeywordCounts):
    """BROKEN: noisy counts, the largest first; ties are in the order of insertion into the store."""

    def draw(self, shares: Sequence[Any], noise: Noise) -> dict[str, int]:
        """Return noisy counts; ties are in the order of insertion."""
        released = super().draw(shares, noise)
        arrival = list(dict.fromkeys(word for share in shares for word in share))
        ordered = sorted(released, key=lambda word: (-released[word], arrival.index(word)))
        return {word: released[word] for word in ordered}


class BrokenRestart(Stream):
    """BROKEN: the sparse vector restarts whenever it fires, without payment."""

    def draw(self, shares: Sequence[Sequence[bool]], noise: Noise) -> int:
        """Return how many more of the first half of the queries fired than of the second half."""
        ask, fired = self.sparse.start(noise), []
        for answers in zip(*shares, strict=True):
            fired.append(ask(answers)[0])
            if fired[-1]:
                ask = self.sparse.start(noise)
        half = len(fired) // 2
        return sum(fired[:half]) - sum(fired[half:])


def _mechanism_twins(epsilon: float) -> Iterator[MechanismCase]:
    votes = (0,) * 7 + (1,) * 4
    broken = partial(MechanismCase, change=REPLACE)
    yield broken(
        "exponential",
        "replacement charged as adding",
        BrokenRelation(2, vote_scale(ADD_REMOVE, epsilon)),
        first=votes,
        second=(*votes[1:], 1),
    )
    half = round(20 / epsilon)  # so many votes that the bottom has no effect
    yield broken(
        "limited-domain",
        "as printed, on votes that turn",
        BrokenLimitedDomain(epsilon, 0.01, 2 * half, 2 * half),
        first=(0,) * (half + 1) + (1,) * (half - 1),
        second=(0,) * half + (1,) * half,
    )
    scale = 2 / epsilon
    gaps = [frozenset("ab")] * (1 + round(3 * scale)) + [frozenset("c")] * 2 + [frozenset("a")]
    yield broken(
        "gap-choice",
        "as printed, on words that turn",
        BrokenGap(1, 2, scale),
        first=[*gaps, frozenset("b")],
        second=[*gaps, frozenset("ac")],
    )
    test = StableSet.calibrated(rho_of(epsilon), 0.01)
    crowd = [frozenset("ab")] * (gap_to_pass(0.9, test.sigma, 0.01) + 1)
    yield broken(
        "stable-set",
        "keywords in the order of their counts",
        BrokenOrder(test.sigma, test.delta, size=2),
        first=[*crowd, frozenset("a")],
        second=[*crowd, frozenset("b")],
    )
    counts = KeywordCounts.calibrated(rho_of(epsilon), 0.01, 1, REPLACE)
    domain = BrokenDomain(1, counts.sigma, counts.delta)
    yield broken(
        "keyword-counts", "no threshold for words that few have", domain, first=["x"], second=["y"], see=_words
    )
    counts = KeywordCounts.calibrated(rho_of(epsilon), 0.01, 2, ADD_REMOVE)
    common = [("a", "b")] * round(counts.threshold + 8 * counts.sigma)
    yield MechanismCase(
        "keyword-counts",
        "a tie broken by insertion order",
        BrokenTies(2, counts.sigma, counts.delta, draws=2),
        ADD_REMOVE,
        common,
        [("b",), *common],
        _first_of_equal,
    )
    early, many = (True,) * 40, [(True,) * 80] * 4
    yield broken(
        "sparse-vector",
        "a restart that is not paid",
        BrokenRestart(SparseVector.calibrated(epsilon, 4, REPLACE)),
        first=[*many, (*early, *(False,) * 40)],
        second=[*many, (*(False,) * 40, *early)],
        draws=25_000,
    )


def _words(counts: dict[str, int]) -> Key:
    return "".join(counts)


def _first_of_equal(counts: dict[str, int]) -> Key:
    """Return the order of two words with the same count."""
    return "".join(counts) if len(set(counts.values())) == 1 else ""


# -- algorithms ------------------------------------------------------------------------------------------------------


class BrokenIndex(SealedCorpus):
    """BROKEN: searches the nearer of two lists, whose centres are trained on the vault (IVF with its own centroids)."""

    def nearest(self, question: str, count: int) -> Private[Found]:
        """Return the nearest units in one list. One unit moves a centre, and so changes the lists of all units."""
        hits = sorted(self._scored(question).nearest(10**6), key=lambda hit: hit.unit)
        vectors = self._embedder.embed([near.text for near in self._store.passages(hits) if near])
        centres = vectors[[0, -1]]
        for _ in range(5):
            lists = np.argmax(vectors @ centres.T, axis=1)
            centres = np.stack([vectors[lists == side].mean(axis=0) for side in (0, 1)])
        side = int(np.argmax(centres @ self.embed(question)))
        near = [hit for hit, own in zip(hits, lists, strict=True) if own == side][:count]
        return Private([Member(hit.unit.encode(), hit) for hit in near], REPLACE_ONE)


class BrokenDeal(SealedCorpus):
    """BROKEN: units are dealt to voters by rank. Without the first unit, all others move up by one."""

    _question = ""

    def nearest(self, question: str, count: int) -> Private[Found]:
        """Find the nearest units, and store the question."""
        self._question = question
        return super().nearest(question, count)

    def partition_to_voters(
        self, found: Private[Found], voters: int, units_per_voter: int
    ) -> Private[tuple[Passage, ...]]:
        """Deal the units to the voters in order of rank."""
        ranked = self._store.nearest_units(self.embed(self._question), voters * units_per_voter)
        each = range(0, voters * units_per_voter, units_per_voter)
        return Private([tuple(ranked[start : start + units_per_voter]) for start in each], REPLACE_ONE)


class BrokenPayment(MemoryLedger):
    """BROKEN: only the first of the relevant units pays. If it is removed, another one pays in its place."""

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        """Return all units that could pay, although only one of them pays."""
        price = self.budget.filter_state(most)
        able = [unit for unit in units if self.budget.admits_state(self._units.get(unit, FilterState()) + price)]
        super().reserve(question, part, most, able[:1])
        return frozenset(able)


class BrokenRows(SealedCorpus):
    """BROKEN: the nearest units have the rows, and one that moves up is charged as if it came."""

    def partition_to_rows(self, found: Private[Found], rows: RowShape, noise: Noise) -> Private[tuple[Passage, ...]]:
        """Give the rows to the nearest units, and state that units come and go."""
        return together([self.partition_to_voters(found, rows.number, 1)])


class BrokenCoins(SealedCorpus):
    """BROKEN: the coin of a row follows from the unit's name, so that it is the same in every question."""

    def partition_to_rows(self, found: Private[Found], rows: RowShape, noise: Noise) -> Private[tuple[Passage, ...]]:
        """Give a row to each unit whose name says so, if all of these have rows."""
        taking = found.keep(lambda member: _coin_of(member.value.unit) < rows.weight)
        return super().partition_to_rows(taking, RowShape(rows.number, rows.number), noise)


def _coin_of(unit: str) -> int:
    """Return a number from 0 to 2^64 that follows from a unit's name."""
    return int.from_bytes(blake2b(unit.encode(), digest_size=8).digest(), "big")


class BrokenNames(SealedCorpus):
    """BROKEN: a value is replaced by one of the same beginning that more units of the vault have."""

    def records(self) -> Private[Member[UnitRecord]]:
        """Return the records with the more common values."""
        given = Counter(one.value for record in self._records.now().records.values() for one in record.statements)

        def named(one: TextStatement) -> TextStatement:
            alike = [value for value in sorted(given) if value.split()[:1] == one.value.split()[:1]]
            return replace(one, value=max([one.value, *alike], key=given.__getitem__))

        def renamed(member: Member[UnitRecord]) -> Member[UnitRecord]:
            return member._replace(value=replace(member.value, statements=[*map(named, member.value.statements)]))

        return super().records().map(renamed)


class BrokenDates(SealedCorpus):
    """BROKEN: periods are counted from the first date in the vault."""

    def records(self) -> Private[Member[UnitRecord]]:
        """Return the records with their dates moved, so that the first one is in the first period."""
        records = self._records.now().records.values()
        first = min(int(str(day)[:4]) for record in records for day in record.values(DATE))

        def moved(own: Fields) -> Fields:
            return {DATE: f"{int(str(own[DATE])[:4]) - first + YEAR}-01-01"}

        def renewed(member: Member[UnitRecord]) -> Member[UnitRecord]:
            return member._replace(value=replace(member.value, fields=tuple(map(moved, member.value.fields))))

        return super().records().map(renewed)


class BrokenRare(SealedCorpus):
    """BROKEN: a code that few units have is dropped."""

    def records(self) -> Private[Member[UnitRecord]]:
        """Return the records without the codes that fewer than `MANY` units have."""
        given = Counter(one for record in self._records.now().records.values() for one in set(record.values(CODE)))

        def kept(own: Fields) -> Fields:
            return {**own, CODE: tuple(one for one in values_in(own, CODE) if given[one] >= MANY)}

        def renewed(member: Member[UnitRecord]) -> Member[UnitRecord]:
            return member._replace(value=replace(member.value, fields=tuple(map(kept, member.value.fields))))

        return super().records().map(renewed)


class BrokenReading(SealedCorpus):
    """BROKEN: of the statements of a unit, its vote is that which most units of the vault make."""

    def stated(
        self,
        question: str,
        documents: Private[tuple[Passage, ...]],
        words: Callable[[str], Sequence[str]],
        is_asked: Asked | None = None,
    ) -> Private[tuple[Passage, ...]]:
        """Return the passages, each with the most common one of its statements."""
        looked, records = self._records.looked(), self._records.now().records
        given = Counter(one.value for record in records.values() for one in record.statements)

        def read(own: tuple[Passage, ...]) -> tuple[Passage, ...]:
            said = [[one.value for one in looked.of(passage.unit, passage.text)] for passage in own]
            most = [min(values, key=lambda value: (-given[value], value), default="") for values in said]
            return tuple(replace(passage, stated=value) for passage, value in zip(own, most, strict=True))

        return documents.map(read)


INDEXED = VaultPair(
    "a unit goes that pulled a list towards the question",
    {
        "u0": ["fever fever say: y ."],
        **{f"u{n}": ["fever hot hot hot say: y ."] for n in range(1, 5)},
        **{f"u{n}": ["fever cough cough say: x ."] for n in range(5, 9)},
    },
    goes="u0",
)
RANKED = VaultPair(
    "the nearest unit goes",
    {f"u{n}": [f"fever {'cough ' * n}say: {'xy'[n % 2]} ."] for n in range(17)},
    goes="u0",
)
CROWDED = VaultPair(
    "the nearest unit goes",
    {f"u{n}": [f"fever {'cough ' * n}say: {'x' if n < 3 else 'y'} ."] for n in range(30)},
    goes="u0",
)
MANY = 30
"""The units of a pair of which all show a mistake: a number far above the noise."""
SEATS = 4
"""The rows of the twin with keyed coins."""
NAMED = sorted((f"u{n}" for n in range(4000)), key=_coin_of)[: SEATS + 1]
"""Units whose names let them take part in every question: one more than there are rows."""
FULL = VaultPair(
    "a unit goes, and the others fill all rows", {name: ["fever say: x ."] for name in NAMED}, goes=NAMED[0]
)
NAMED_ONCE = VaultPair(
    "a unit goes that names a value as another one does",
    {f"u{n}": [f"fever say: x {n or 1} ."] for n in range(MANY)},
    goes="u0",
)
FIRST = VaultPair(
    "the unit with the first date goes",
    {f"u{n}": [f"fever{' cough' * (n > 0)} say: x ."] for n in range(MANY)},
    goes="u0",
)
RARE = VaultPair(
    "a unit goes with a code that just enough units have",
    {f"u{n}": ["fever say: y ."] for n in range(MANY)},
    goes="u0",
)
SAID = VaultPair(
    "a unit goes that alone says no more than y",
    {f"u{n}": [f"fever say: {'x, y' if n else 'y'} ."] for n in range(MANY)},
    goes="u0",
)
PAID = replace(RANKED, units={f"u{n}": RANKED.units[f"u{n}"] for n in range(5)}, asked=QUESTIONS)


def _algorithm_twins(epsilon: float) -> Iterator[AlgorithmCase]:
    def choosing(voters: int, each: int = 1) -> Consensus:
        return Consensus(voters=voters, units_per_voter=each, epsilon=epsilon, choices=("x", "y"))

    granted = Budget(epsilon, 0.0, accountant="pure")
    index, dealt, paid = (
        _named(INDEXED, "an index trained on the vault"),
        _named(RANKED, "units dealt by rank"),
        _named(PAID, "payment by rank"),
    )
    yield AlgorithmCase("consensus-choices", _alone(choosing(4), granted), index, corpus=BrokenIndex)
    yield AlgorithmCase("consensus-choices", _alone(choosing(8, 2), granted), dealt, corpus=BrokenDeal)
    murag = MuRAG(inner=choosing(1), similarity=-1.0, uses=1)
    yield AlgorithmCase("murag", AuditSetting(murag, granted), paid, ledger=BrokenPayment, draws=3000)
    failing = replace(granted, delta=FAILURE, failures=FAILURE)
    three = MuRAG(inner=choosing(1), similarity=-1.0, uses=1, rows=3)
    moves_up = _named(CROWDED, "units that move up")
    yield AlgorithmCase("murag-all-vote", AuditSetting(three, failing), moves_up, corpus=BrokenRows, draws=6000)
    coins = _named(FULL, "a coin that follows from the unit's name")
    seats = AuditSetting(replace(three, rows=SEATS), failing)
    yield AlgorithmCase("murag-all-vote", seats, coins, corpus=BrokenCoins, draws=3000)
    sound = settings(epsilon)
    for name, mistake, pair, corpus in (
        ("list", "values renamed after more common ones", NAMED_ONCE, BrokenNames),
        ("trend", "periods from the first date of the vault", FIRST, BrokenDates),
        ("murag-ada-read", "the statement that most units make", SAID, BrokenReading),
        ("themes", "a rare code that is dropped", RARE, BrokenRare),
    ):
        yield AlgorithmCase(name, replace(sound[name], crowd=0), _named(pair, mistake), corpus=corpus)


def _alone(algorithm: Consensus, granted: Budget) -> AuditSetting:
    return AuditSetting(algorithm, replace(granted, delta=DELTA, failures=0.0, accountant="renyi"))


def _named(pair: VaultPair, name: str) -> VaultPair:
    return replace(pair, name=f"{name} ({pair.name})")


# -- corpora ---------------------------------------------------------------------------------------------------------


class BrokenFacts(SmallFacts):
    """BROKEN: a fact is released with a noisy count, regardless of the number of units that state it."""

    def steps(self, rho: float, delta: float, dimension: int, length: int) -> FactsPlan:
        """Return steps without a threshold."""
        plan = super().steps(rho, delta, dimension, length)
        counts = plan.stated
        return replace(plan, stated=BrokenDomain(counts.words, counts.sigma, counts.delta, counts.of))


def _corpus_twins(epsilon: float) -> Iterator[CorpusCase]:
    method, crowd = corpora(epsilon)[DPFacts.name]
    alone = replace(CORPUS_PAIRS[1], name=f"no threshold for facts that few state ({CORPUS_PAIRS[1].name})")
    yield CorpusCase(method.name, BrokenFacts(**vars(method)), crowd, alone, draws=800)


# -- all of them -----------------------------------------------------------------------------------------------------


def twins_of_mechanisms(epsilon: float, names: Sequence[str] = ()) -> list[Case]:
    """Return mutants of each named mechanism (all if none): one with too little noise, and those with a mistake."""
    loudest = {case.name: case for case in reversed(mechanism_cases(epsilon, names))}
    twins: list[Case] = [Quiet(case, QUIET) for case in reversed(loudest.values())]
    return twins + [c for c in (*_mechanism_twins(epsilon), *vote_twins(epsilon)) if not names or c.name in names]


def twins_of_algorithms(epsilon: float, names: Sequence[str] = ()) -> list[Case]:
    """Return mutants of each named algorithm (all if none is named)."""
    twins: list[Case] = [
        Quiet(AlgorithmCase(name, setting, PAIRS[LOUDEST.get(name, 1)], draws=2000), STILL)
        for name, setting in settings(epsilon).items()
        if not names or name in names
    ]
    return twins + [case for case in _algorithm_twins(epsilon) if not names or case.name in names]


def twins_of_corpora(epsilon: float, names: Sequence[str] = ()) -> list[Case]:
    """Return mutants of each named method of synthesis (all if none is named)."""
    twins: list[Case] = [
        Quiet(CorpusCase(name, method, crowd, CORPUS_PAIRS[LOUDEST.get(name, 0)]), STILL)
        for name, (method, crowd) in corpora(epsilon).items()
        if not names or name in names
    ]
    return twins + [case for case in _corpus_twins(epsilon) if not names or case.name in names]


LOUDEST = {
    "aug-pe": 1,
    "dp-rag": 6,
    "dp-ksa": 3,
    "consensus": 3,
    "murag-ada": 2,
    "murag-all-vote": 2,
    "murag-all-vote-candidate": 2,
    "murag-ada-curve": 2,
    "murag-ada-read": 2,
    "list": 2,
}
"""The index of the pair that shows too little noise best, if it is not the default."""
