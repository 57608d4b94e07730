"""What an answer to a question of the clinic is worth, by data alone: the right requests, true numbers, right answers.

useful            the request is right, each interval holds the truth, and its half width is at most a quarter of it or
                  ten people; or a right answer of a fact; or, of a list, at least three of the eight most frequent
too wide          the same, but the half width is larger
rightly refused   nothing was paid, and the vault cannot answer it
asked back        nothing was paid, and what the refusal offers is a right request
refused           nothing was paid, and the vault could have answered it
paid for nothing  nothing was released
wrong             another thing than was asked was counted, or more than 1 of 10 intervals or answers miss
invented          what an answer released stands in no record

An answer is drawn many times. It is wrong or invented by the rules above, and else what most of the draws are.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from discreet.algorithms.base import Algorithm, Answer, Figure
from discreet.errors import BudgetExhausted, DiscreetError
from discreet.query.recall import tell_apart
from discreet.questions.request import FACT, Request, parse_request
from discreet.questions.router import Decision
from discreet.questions.vocabulary import widen
from discreet.statistics.conditions import written
from discreet.statistics.counts import Count
from discreet.statistics.statistic import Statistic
from discreet.statistics.typical import Typical
from discreet.statistics.values import ListValues
from discreet.vault import Vault
from discreet_lab.experiments.clinic import ENGLISH, GERMAN, Clinic
from discreet_lab.experiments.clinic_questions import ClinicQuestion, TrueNumbers

USEFUL, WIDE, ASKED_BACK, NOTHING = "useful", "too wide", "asked back", "paid for nothing"
RIGHTLY, REFUSED, WRONG, INVENTED = "rightly refused", "refused", "wrong", "invented"
VERDICTS = (USEFUL, WIDE, RIGHTLY, ASKED_BACK, REFUSED, NOTHING, WRONG, INVENTED)
QUARTER, PEOPLE = 0.25, 10
MISSED, MISSES = 0.1, "intervals miss"
MOST = 0.8
"""Of the numbers of one answer, the part that must be right, or narrow."""
RANGE: dict[str, Any] = {"low": 0.0, "high": 100.0}
FEW, FIRST = 3, 8
"""A list is useful with so many of so many most frequent values."""
_OFFER = re.compile(r"(?:count|share|difference|compare|trend|typical|list|summary): [^\n]+|(?<=\b[Aa]sk: )[^\n]+")
_FIELDS = {"north ward": "Nord", "south ward": "Süd", "east ward": "Ost"}


@dataclass(frozen=True)
class Said:
    """What happened to a question.

    Attributes:
        decision: how it was understood; None if it was refused before.
        error: the refusal; None if there was none.
        answer: the answer; None if it was refused.
    """

    decision: Decision | None = None
    error: DiscreetError | None = None
    answer: Answer | None = None

    @property
    def epsilon(self) -> float:
        """What the receipt names."""
        return self.answer.receipt.epsilon if self.answer and self.answer.receipt else 0.0

    @property
    def kind(self) -> str:
        """The kind that was understood."""
        return self.decision.request.kind if self.decision else "-"

    @property
    def echo(self) -> str:
        """The request that was understood, in its text form."""
        return str(self.decision.request) if self.decision else "-"

    @property
    def result(self) -> str:
        """What was released, or the refusal, in one line."""
        text = str(self.error) if self.error else (self.answer.answer or "nothing was released") if self.answer else "-"
        return " / ".join(text.splitlines())


@dataclass(frozen=True)
class Verdict:
    """A verdict, with its reason where one is needed."""

    name: str
    why: str = ""


@dataclass(frozen=True)
class Judge:
    """Judges what was said to the questions of a clinic.

    Attributes:
        clinic: the clinic.
        vault: a vault with its fields, which reads requests.
    """

    clinic: Clinic
    vault: Vault

    def judge(
        self, question: ClinicQuestion, truth: TrueNumbers | None, said: Said, draws: Sequence[Answer] = ()
    ) -> Verdict:
        """Return what is said to a question is worth: what most of its answers are, if few are wrong and none invents.

        Args:
            question: the question.
            truth: its true numbers.
            said: what was said.
            draws: further answers to it, with other noise, each from the state of the vault before it.
        """
        if said.error is not None:
            return self._of_refusal(question, said.error)
        assert said.decision is not None
        assert said.answer is not None
        decision, answers = said.decision, [said.answer, *draws]
        invented = [one for one in answers if not self._stands(one, decision)]
        if invented:
            first = ", ".join(invented[0].released)
            return Verdict(INVENTED, f"{len(invented)} of {len(answers)} answers, such as {first}")
        verdicts = [self._of_answer(question, truth, decision, one) for one in answers]
        wrong = [one for one in verdicts if one.name == WRONG]
        if len(wrong) > MISSED * len(verdicts):
            return Verdict(WRONG, f"{wrong[0].why}, {len(wrong)} of {len(verdicts)}")
        held = [one.holds for draw in answers for one in match(truth, draw.table)] if truth else []
        if held.count(False) > MISSED * len(held):
            return Verdict(WRONG, f"{held.count(False)} of {len(held)} {MISSES}")
        ((most, _),) = Counter(one.name for one in verdicts).most_common(1)
        return next(one for one in verdicts if one.name == most)

    def is_right(self, question: ClinicQuestion, algorithm: Algorithm) -> bool:
        """Return whether a statistic is one of the right requests of a question, or one with their synonyms and codes.

        A summary is the table of the first code, where a vault has some (docs/codebook.md).
        """
        right = [parse_request(one) for one in question.requests if one != FACT]
        book = self.vault.router.book
        if book is not None:
            first, summaries = book.coded[0].name, [one for one in right if one.kind == "summary"]
            right += [Request(kind="themes", attribute=first, among=one.among) for one in summaries]
        forms = (form for one in right for form in {one, widen(one, self.vault.settings.synonyms, book=book)})
        return any(self._key(self.statistic(one)) == self._key(algorithm) for one in forms)

    def statistic(self, request: Request) -> Algorithm:
        """Return the statistic of a request. The range of a typical number makes no difference, and may be unknown."""
        return self.vault.decide(request, **(RANGE if request.kind == Typical.name else {})).algorithm

    def right_offer(self, question: ClinicQuestion, error: DiscreetError) -> str:
        """Return the request or the question that a refusal offers and that is right; "" if there is none."""
        for offer in offers(str(error)):
            try:
                decision = self.vault.decide(offer)
            except DiscreetError:
                continue
            if self.is_right(question, decision.algorithm):
                return offer
        return ""

    @staticmethod
    def _key(algorithm: Algorithm) -> object:
        """Return what is the same for two statistics of the same thing.

        A count of a population is a count of both conditions. Prices and the length of a list make no difference.
        """
        if type(algorithm) is Count:
            return ("count", written(algorithm.members.facts()))
        if isinstance(algorithm, ListValues):
            algorithm = replace(algorithm, most=0, attribute=algorithm.attribute.casefold())
        if isinstance(algorithm, Typical):
            algorithm = replace(algorithm, **RANGE)
        return tell_apart(algorithm)

    def _of_refusal(self, question: ClinicQuestion, error: DiscreetError) -> Verdict:
        spent = "the grant is used up" if isinstance(error, BudgetExhausted) else ""
        if self.right_offer(question, error):
            return Verdict(ASKED_BACK)
        return Verdict(REFUSED if question.answerable or spent else RIGHTLY, spent)

    def _stands(self, answer: Answer, decision: Decision) -> bool:
        """Return whether what was released stands in records, or is a choice, a declared value, or in the question."""
        public = {_plain(one) for one in (*decision.request.choices, "yes", "no", "not said", *_FIELDS.values())}
        values = [_plain(one.rpartition(": ")[2]) for one in answer.released if answer.answer is not None]
        rest = [one for one in values if one not in public and one not in _plain(decision.question)]
        return all(any(set(one.split()) <= words for words in self._words) for one in rest)

    @cached_property
    def _words(self) -> list[set[str]]:
        """The words of each note."""
        return [set(_plain(note.text).split()) for note in self.clinic.notes]

    def _of_answer(
        self, question: ClinicQuestion, truth: TrueNumbers | None, decision: Decision, answer: Answer
    ) -> Verdict:
        """Return what one answer is worth, of which nothing is invented."""
        if answer.answer is None:
            return Verdict(NOTHING, answer.useless or "nothing was released")
        if isinstance(decision.algorithm, Statistic):
            right = truth is not None and self.is_right(question, decision.algorithm)
            return self._of_statistic(truth, answer) if truth and right else Verdict(WRONG, "another thing")
        said = f" {_plain(answer.answer)} "
        if any(f" {_plain(one)} " in said for one in question.answers):
            return Verdict(USEFUL)
        return Verdict(WRONG, f"another answer: {answer.answer}" if question.answers else "voters were asked")

    @staticmethod
    def _of_statistic(truth: TrueNumbers, answer: Answer) -> Verdict:
        pairs = list(match(truth, answer.table))
        if truth.kind == "values":
            # A table of a code has all public values. Of one whose interval holds 0 it does not say that it is there.
            named = [one for one in answer.table if one.kind == "count" and one.name != "of" and one.low > 0]
            things = {thing for one in named if (thing := _thing(one.name, truth.values))}
            if 4 * len(things) < 3 * len(named):
                return Verdict(WRONG, f"{len(named) - len(things)} of {len(named)} values are other things")
            right = len(things & {*list(truth.values)[:FIRST]})
            useful = right >= min(FEW, len(truth.values))
            return Verdict(USEFUL if useful else NOTHING, f"{right} of the first {FIRST} values")
        if not pairs:
            return Verdict(WRONG, "no such number")
        if sum(one.holds for one in pairs) < (MOST if truth.kind == "months" else 1) * len(pairs):
            return Verdict(NOTHING, "the interval misses")
        narrow = sum(one.is_narrow for one in pairs) >= MOST * len(pairs)
        return Verdict(USEFUL if narrow else WIDE, "" if narrow else _widths(pairs))


@dataclass(frozen=True)
class Pair:
    """A released number beside the true one; `people` is the number that a share is of, or 1."""

    name: str
    figure: Figure
    true: float
    people: float

    @property
    def holds(self) -> bool:
        """Whether the interval holds the truth."""
        return self.figure.low - 1e-9 <= self.true <= self.figure.high + 1e-9

    @property
    def half_width(self) -> float:
        """Half of the interval."""
        return (self.figure.high - self.figure.low) / 2

    @property
    def is_narrow(self) -> bool:
        """Whether half of the interval is at most a quarter of the truth, or ten people."""
        people = PEOPLE / self.people if self.figure.kind != "number" else 0.0
        return self.half_width <= max(QUARTER * abs(self.true), people) + 1e-9


def match(truth: TrueNumbers, table: Iterable[Figure]) -> Iterator[Pair]:
    """Yield the released numbers that have a true one."""
    figures = list(table)
    if truth.kind == "months":
        named = [one for one in figures if one.kind == "count"]
        yield from (Pair(one.name, one, truth.values.get(one.name, 0), 1) for one in named)
    elif truth.kind == "values":
        for one in figures:
            thing = _thing(one.name, truth.values)
            if thing and one.kind == "count":
                yield Pair(thing, one, truth.values[thing], 1)
    elif truth.kind == "shares":
        shares = [one for one in figures if one.kind == "share"]
        for one, (name, true) in zip(shares, truth.values.items(), strict=False):
            yield Pair(name, one, true, truth.people[name])
    else:
        first = next((one for one in figures if one.kind in truth.values), None)
        if first is not None:
            yield Pair(first.kind, first, truth.values[first.kind], truth.people.get(first.kind, 1))


def offers(message: str) -> list[str]:
    """Return the requests that a message offers, in their text form, each cut where it may end, and the questions."""
    lines = [one.strip() for line in _OFFER.findall(message) for one in (line, *_cuts(line))]
    return list(dict.fromkeys(lines))


def _cuts(line: str) -> Iterator[str]:
    for mark in re.finditer(r"[.;?](?:\s|$)| or (?=\w+: )|'", line):
        yield line[: mark.start()]


def _thing(name: str, known: Mapping[str, float]) -> str:
    """Return the thing that a released value names; "" if it is none of them."""
    said = _plain(name.rpartition(": ")[2])
    if _FIELDS.get(said, "") in known:
        return _FIELDS[said]
    for thing in known:
        forms = (thing, *ENGLISH.get(thing, ()), *GERMAN.get(thing, ()))
        if said in {_plain(form) for form in forms}:
            return thing
    return ""


def _widths(pairs: Sequence[Pair]) -> str:
    return ", ".join(f"{one.true:.3g} ± {one.half_width:.2g}" for one in pairs[:3])


def _plain(text: str) -> str:
    """Return the words of a text, without articles."""
    words = "".join(letter if letter.isalnum() or letter in "+/" else " " for letter in text.casefold()).split()
    return " ".join(word for word in words if word not in ("a", "an", "the"))
