"""What phrases get wrong, by a labelled sample of public texts; and how many units of a vault that may be.

A phrase holds of a unit "by rule" if its words stand in the unit's texts. The rule can be wrong of such a unit, and it
can miss a unit of which the phrase is true. The same rule is run on the sample, where the truth is known.

The bounds rest on one assumption: the sample is drawn like the vault's units. Then, of f units of the sample and F of
the vault of which the rule holds, each set of f is as likely to be the sample. If B of the F and b of the f are wrong,
b has the hypergeometric law. `most_wrong` is the largest B whose probability of at most b is above `tail`. So a larger
B is true with probability `tail` at most. `most_missed` is the same, of t true units of the sample, of which c are
missed, and A + C true ones of the vault, of which the rule finds A. No rate is estimated, and the chance in the vault
is included. `found - most_wrong` and `found + most_missed` never fall as `found` grows: one more unit without an error
raises a bound by one at most.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from discreet.algorithms.base import Figure
from discreet.errors import BadData, UsageError
from discreet.statistics.cells import LEVEL, Cells, Counted, Reckon, ReckonedDifference, Weights, divide
from discreet.statistics.conditions import Condition, Fact, Says, says
from discreet.store.unit_records import UnitRecord

LEAST = 20
"""The least number of units of the sample of which a condition holds, and by rule: with fewer, bounds say nothing."""
_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True)
class RuleCheck:
    """What the rule does on a sample.

    Attributes:
        found: the number of units of which the condition holds by rule; of them, it is not true of `wrong`.
        true: the number of units of which it is true; of them, the rule misses `missed`.
        pooled: whether these are sums over all conditions of the sample.
    """

    found: int = 0
    wrong: int = 0
    true: int = 0
    missed: int = 0
    pooled: bool = False

    def __add__(self, other: "RuleCheck") -> "RuleCheck":
        return RuleCheck(
            self.found + other.found,
            self.wrong + other.wrong,
            self.true + other.true,
            self.missed + other.missed,
            pooled=True,
        )

    @property
    def suffices(self) -> bool:
        """Whether there are enough labels."""
        return min(self.found, self.true) >= LEAST


Essence = tuple[str, ...]


@dataclass(frozen=True)
class LabelledUnit:
    """A unit of the sample.

    Attributes:
        record: its texts.
        true: the phrases that are true of it, by the words that decide.
    """

    record: UnitRecord
    true: Mapping[Essence, Says]


class LabelledSample:
    """Public texts with their truth. A phrase is true where it is named; if it is nowhere named, it is unknown.

    It must be public or synthetic, or its individuals must have agreed: a sample of a vault's own documents would
    release them. A vault does not compare the two, since its reply would tell who is in it.
    """

    def __init__(self, units: Sequence[LabelledUnit]) -> None:
        self._units = units
        self._sums: dict[tuple[str, tuple[bool, ...]], RuleCheck] = {}
        self._known = {essence: phrase for unit in units for essence, phrase in unit.true.items()}

    @cached_property
    def _found(self) -> list[frozenset[Essence]]:
        """The known phrases that hold of each unit by rule."""
        by_text = self._known.items()
        return [frozenset(one for one, phrase in by_text if phrase.holds(unit.record)) for unit in self._units]

    @cached_property
    def _named(self) -> dict[Essence, list[int]]:
        """The units of which each known phrase is true, or holds by rule."""
        named: dict[Essence, list[int]] = {}
        for place, (unit, by_rule) in enumerate(zip(self._units, self._found, strict=True)):
            for essence in {*unit.true, *by_rule}:
                named.setdefault(essence, []).append(place)
        return named

    @cached_property
    def languages(self) -> frozenset[str]:
        """The languages of its labels, such as "en"."""
        return frozenset(map(_language, self._known))

    def __len__(self) -> int:
        return len(self._units)

    @staticmethod
    def read(path: Path) -> "LabelledSample":
        """Read a sample: JSON lines with `text` (or `texts`, of one individual), and `holds` or `statements`.

        `language` is that of its phrases, "de", "fr" or "es"; English if it is not there.

        Raises:
            BadData: if it is none.
            UsageError: if there is no file.
        """
        if not path.is_file():
            raise UsageError(f"There is no file at {path}. Name a labelled sample: JSON lines with text and holds.")
        if path.stat().st_size > _MOST_BYTES:
            raise BadData(f"{path} is larger than {_MOST_BYTES // 2**20} MiB. Name a smaller sample.")
        units = []
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            if line.strip():
                try:
                    units.append(labelled(json.loads(line)))
                except (ValueError, TypeError, RecursionError) as error:
                    raise BadData(
                        f'Line {number} of {path} is no labelled text. Write {{"text": "...", "holds": ["fever"]}}.'
                    ) from error
        if not units:
            raise BadData(f"{path} has no labelled text. Write one JSON object a line, with text and holds.")
        return LabelledSample(units)

    def check(self, phrases: Sequence[Condition]) -> RuleCheck:
        """Return what the rule does where all of the phrases hold; over all conditions, if it has few labels of these.

        Raises:
            UsageError: if there are too few labels in all, or none in the language of the phrases; or if a condition is
                more than a phrase.
        """
        if not phrases:
            return RuleCheck()
        facts = tuple(fact for phrase in phrases for fact in phrase.facts())
        if any(fact.decides[0] != "says" for fact in facts):
            raise UsageError(
                "A labelled sample widens the intervals of phrases that 'and' and 'not' join, and not of "
                f"'{' and '.join(map(str, phrases))}'. Ask without --labelled."
            )
        language = _language(facts[0].decides)
        if language not in self.languages:
            raise UsageError(
                f"The phrases of the question are in the language '{language}', and the labels of the sample in: "
                f"{', '.join(sorted(self.languages)) or 'none'}. Label texts of that language, with "
                f'"language": "{language}" on each line, or ask without --labelled.'
            )
        own = self._check(facts) if all(fact.decides in self._known for fact in facts) else RuleCheck()
        if own.suffices:
            return own
        pooled = self._pooled(language, tuple(fact.holds for fact in facts))
        if not pooled.suffices:
            named = ", ".join(map(str, phrases))
            raise UsageError(
                f"The labelled sample says too little of '{named}': it holds of {own.true} of its texts, and by rule "
                f"of {own.found}; expected: {LEAST} or more. Label more texts, or ask without --labelled."
            )
        return pooled

    def _check(self, facts: Sequence[Fact]) -> RuleCheck:
        found = wrong = true = missed = 0
        for place in self._places(facts):
            unit, by_rule = self._units[place], self._found[place]
            is_true = all((fact.decides in unit.true) == fact.holds for fact in facts)
            is_found = all((fact.decides in by_rule) == fact.holds for fact in facts)
            found, wrong = found + is_found, wrong + (is_found and not is_true)
            true, missed = true + is_true, missed + (is_true and not is_found)
        return RuleCheck(found, wrong, true, missed)

    def _places(self, facts: Sequence[Fact]) -> Sequence[int]:
        """Return the units that can count: of the others, one of the facts neither holds nor is found."""
        said = [self._named.get(fact.decides, []) for fact in facts if fact.holds]
        return min(said, key=len) if said else range(len(self._units))

    def _pooled(self, language: str, signs: tuple[bool, ...]) -> RuleCheck:
        """Return the sum over all conditions of as many phrases of a language that occur together, with these signs."""
        if (language, signs) not in self._sums:
            total = RuleCheck(pooled=True)
            for essences in self._together(len(signs)):
                if all(_language(one) == language for one in essences):
                    total += self._check([Fact(one, holds) for one, holds in zip(essences, signs, strict=True)])
            self._sums[language, signs] = total
        return self._sums[language, signs]

    def _together(self, number: int) -> Iterator[tuple[Essence, ...]]:
        """Yield the phrases of the sample, or the pairs that are true of one unit; nothing for more of them."""
        if number == 1:
            yield from ((one,) for one in sorted(self._known))
        elif number == 2:
            yield from sorted({(a, b) for unit in self._units for a in unit.true for b in unit.true if a != b})


def _language(essence: Essence) -> str:
    """Return the language of a phrase, which stands in its essence (`Fact.of`)."""
    return essence[1]


def labelled(line: Any) -> LabelledUnit:
    """Return the unit of a line.

    Raises:
        ValueError: if the line describes none.
    """
    if not isinstance(line, dict) or not {"holds", "statements"} & set(line):
        raise ValueError("no labels")
    texts = line["texts"] if "texts" in line else [line.get("text")]
    stated = line.get("statements", {})
    if not isinstance(stated, dict) or not isinstance(line.get("holds", []), list):
        raise ValueError("no labels")
    values = [value for given in stated.values() for value in (given if isinstance(given, list) else [given])]
    holds, language = [*line.get("holds", ()), *values], line.get("language", "")
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in [*texts, *holds, language]):
        raise ValueError("no texts")
    try:
        phrases = [says(phrase, language) for phrase in holds if phrase.strip()]
    except UsageError as error:
        raise ValueError("a phrase without words") from error
    return LabelledUnit(UnitRecord(tuple(texts)), {_fact(one).decides: one for one in phrases if _fact(one).holds})


def _fact(phrase: Says) -> Fact:
    (fact,) = phrase.facts()
    return fact


@lru_cache(maxsize=100_000)
def most_wrong(found: int, checked: RuleCheck, tail: float) -> int:
    """Return how many of `found` units of the vault the rule may be wrong of; more with probability `tail` at most."""
    if found <= 0 or not checked.found:
        return 0
    whole = found + checked.found
    return _largest(
        lambda more: hypergeometric(checked.wrong, whole, checked.wrong + more, checked.found) > tail, found
    )


@lru_cache(maxsize=100_000)
def most_missed(found: int, checked: RuleCheck, tail: float) -> int:
    """Return how many units the rule may miss if it finds `found` true ones; more with probability `tail` at most."""
    if not checked.true:
        return 0
    there = max(0, found)

    def may_be(more: int) -> bool:
        return hypergeometric(checked.missed, there + more + checked.true, checked.missed + more, checked.true) > tail

    return _largest(may_be, 10**9) if checked.missed < checked.true else 10**9


def _largest(may_be: Callable[[int], bool], most: int) -> int:
    """Return the largest number that may be, up to `most`: all smaller ones may be, too."""
    low, step = 0, 1
    while low + step <= most and may_be(low + step):
        low, step = low + step, 2 * step
    while step:
        if low + step <= most and may_be(low + step):
            low += step
        step //= 2
    return low


def hypergeometric(most: int, whole: int, marked: int, drawn: int) -> float:
    """Return the probability that at most `most` of `drawn` are marked, of `whole`, of which `marked` are."""
    least = max(0, drawn - (whole - marked))
    if most < least:
        return 0.0
    term = math.exp(_choose(marked, least) + _choose(whole - marked, drawn - least) - _choose(whole, drawn))
    total = term
    for number in range(least, min(most, marked, drawn)):
        term *= (marked - number) * (drawn - number) / ((number + 1) * (whole - marked - drawn + number + 1))
        total += term
    return min(1.0, total)


def _choose(number: int, some: int) -> float:
    return math.lgamma(number + 1) - math.lgamma(some + 1) - math.lgamma(number - some + 1)


# --- intervals that cover the true number: from the noise, and from what phrases get wrong ----------------------------
# A count by rule of F units, of which B are wrong, and which misses C others, stands for F - B + C true ones. That is
# at least F - B, and at most F + C. The noise leaves out F on one side with probability (1 - NOISE)/2, and a bound of B
# or C fails with the rest: 0.01 on each side. So the interval covers with probability 0.95 (the union bound). A share
# is Y of Y + N: it is least if Y has all wrong units that can be, and N all missed ones. These two bounds have half of
# the 0.01 each, and the four of a difference of shares a quarter. The value itself stays that of the noisy counts.

NOISE = 0.97
"""The coverage of the noise alone."""
TAIL = (NOISE - LEVEL) / 2
"""The probability on each side that a bound of the errors fails."""

Key = frozenset[tuple[int, int]]


def key_of(weights: Weights) -> Key:
    """Return a sum of cells in a form in which it can be looked up."""
    pairs = weights.items() if isinstance(weights, Mapping) else ((cell, 1) for cell in weights)
    return frozenset((cell, weight) for cell, weight in pairs if weight)


@dataclass(frozen=True)
class Widened(Counted):
    """Noisy counts, with what the rule did on a labelled sample.

    Attributes:
        checked: what it did for each sum of cells.
    """

    checked: Mapping[Key, RuleCheck] = field(default_factory=dict, hash=False)

    def figure(self, name: str, kind: str, of: Reckon, level: float = NOISE) -> Figure:
        """Return a number with the interval that covers the true one."""
        return super().figure(name, kind, self._wide(of, TAIL), level)

    def _wide(self, of: Reckon, tail: float) -> Reckon:
        if isinstance(of, ReckonedDifference):
            return ReckonedDifference(*(self._wide(part, tail / 2) for part in of.parts))
        if of.whole:
            rest = minus(of.whole, of.cells)
            return _WideShare(of, rest, self.checked[key_of(of.cells)], self.checked[key_of(rest)], tail / 2)
        return _WideCount(of, self.checked[key_of(of.cells)], tail)


def minus(whole: Weights, part: Weights) -> dict[int, int]:
    """Return a sum of cells without another one."""
    rest = dict(key_of(whole))
    for cell, weight in key_of(part):
        rest[cell] = rest.get(cell, 0) - weight
    return {cell: weight for cell, weight in rest.items() if weight}


class _WideCount(Reckon):
    """A count, with the units of which the rule may be wrong, or which it may miss."""

    def __init__(self, of: Reckon, checked: RuleCheck, tail: float) -> None:
        super().__init__(of.cells)
        self._exact, self._checked, self._tail = of, checked, tail

    def uncut(self) -> Self:
        """Return the same count, below 0 where the noise puts it there."""
        whole = super().uncut()
        whole._exact = self._exact.uncut()
        return whole

    def __call__(self, counts: Cells) -> Cells:
        """Return the noisy count."""
        return self._exact(counts)

    def least(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the least true number."""
        low = self._exact.least(counts, missing)
        return _each(low, lambda one: one - most_wrong(one, self._checked, self._tail))

    def most(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the largest true number."""
        high = self._exact.most(counts, missing)
        return _each(high, lambda one: one + most_missed(one, self._checked, self._tail))


class _WideShare(Reckon):
    """A share of two true numbers: of those of which a condition holds, and of the rest."""

    def __init__(self, of: Reckon, rest: Weights, held: RuleCheck, other: RuleCheck, tail: float) -> None:
        super().__init__(of.cells, of.whole)
        self._held = _WideCount(Reckon(of.cells), held, tail)
        self._rest = _WideCount(Reckon(rest), other, tail)

    def uncut(self) -> Self:
        """Return the same share, below 0 or above 1 where the noise puts it there."""
        whole = super().uncut()
        whole._held, whole._rest = self._held.uncut(), self._rest.uncut()
        return whole

    def least(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the least true share."""
        return self._quotient(self._held.least(counts, missing), self._rest.most(counts, missing), 0.0)

    def most(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the largest true share."""
        return self._quotient(self._held.most(counts, missing), self._rest.least(counts, missing), 1.0)

    def _quotient(self, held: Cells, rest: Cells, none: float) -> Cells:
        """Return the share of one number of itself and the rest."""
        quotient = divide(held, held + rest, none)
        return np.clip(quotient, 0.0, 1.0) if self._cut else quotient


def _each(counts: Cells, change: Callable[[int], int]) -> Cells:
    """Return the counts, each changed; those below 0, which no units are, keep what is below."""
    whole = np.rint(counts).astype(np.int64)
    different, places = np.unique(whole, return_inverse=True)
    changed = np.asarray([change(max(0, one)) + min(0, one) for one in different.tolist()], dtype=np.float64)
    return changed[places]
