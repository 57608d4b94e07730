"""The reuse of released answers: find them, derive numbers from them, and keep new ones."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import combinations

from pydantic.dataclasses import dataclass as checked_dataclass

from discreet.algorithms.base import Algorithm, Answer, Figure, GeneratedAnswer
from discreet.algorithms.text.normalize import ARTICLES, LABELS, LINKS, words_of
from discreet.errors import DiscreetError, StoreError, UsageError
from discreet.privacy.filter import released_before
from discreet.query.answer_cache import NOTHING, AnswerCache, Released, as_record
from discreet.query.execution import AT_ONCE, Pace
from discreet.questions.request import KINDS
from discreet.statistics import counts
from discreet.statistics.cells import Counted, Reckon
from discreet.statistics.conditions import ALL, All, Condition, Fact, Region, either_of, narrowed, of_person
from discreet.statistics.labelled import Key, LabelledSample, Widened, key_of, minus
from discreet.statistics.statistic import Statistic
from discreet.store.public import PublicTexts
from discreet.system.words import minutes

RELATED, ALIKE = 3, 0.5
"""The number of released answers in the public prompt, and the least similarity of their questions to the new one."""


def tell_apart(algorithm: Algorithm) -> tuple[str, ...]:
    """Return what distinguishes two answers to one question, beside its words: an earlier answer must have the same."""
    return algorithm.set_apart if isinstance(algorithm, Statistic) else algorithm.spec.choices


def find_released(history: AnswerCache, question: str, algorithm: Algorithm) -> Released | None:
    """Return the earlier release to the same question, an answer or "no answer"; None if it lacks required shares.

    A statistic is the same if its parts are, in other words of the question, too. Or it follows from other ones.
    """
    if isinstance(algorithm, Statistic):
        derived = history.apart(algorithm.set_apart) or releases_of(history).answer(question, algorithm)
        if derived is not None:
            return derived
    same = history.same(question, tell_apart(algorithm), fingerprint(algorithm))
    if same is None or not same.is_answer:
        return same
    return same if same.shares or not algorithm.spec.counts_choices else None


def fingerprint(algorithm: Algorithm) -> str:
    """Return a short hash of the algorithm and its parameters: public."""
    return blake2b(repr(algorithm).encode(errors="surrogatepass"), digest_size=8).hexdigest()


def public_record(related: Sequence[Released], texts: PublicTexts | None, question: str) -> str:
    """Return the text that the public prompt reads in place of a document. The prompt cuts it to the same length.

    Released answers come first, since they are short and their questions are similar. The text of the public corpus
    that is nearest to the question gets the rest of the room.
    """
    parts = [as_record(related), texts.nearest(question) if texts else ""]
    return " ".join(part for part in parts if part)


def keep_answer(
    history: AnswerCache,
    question: str,
    algorithm: Algorithm,
    answer: Answer,
    asked: Algorithm | None = None,
    pace: Pace = AT_ONCE,
) -> Answer:
    """Keep a release, with the minute in which it leaves, and return the answer.

    An answer that could not be written is nevertheless paid and released.

    It is found by the algorithm, and by the one that was `asked` before a schema named its attribute.
    "No answer" is also kept. A useless answer is not kept, since it would be repeated for ever.
    """
    said = answer.stopped != NOTHING and not answer.table  # a number always says something
    why = useless(question, answer.text, answer.released, algorithm.spec.choices) if said else ""
    if why:
        return replace(answer, useless=why)
    try:
        released = replace(_as_released(question, algorithm, answer), time=pace.minute())
        history.add(replace(released, asked=tell_apart(asked)) if asked and asked != algorithm else released)
    except StoreError:
        return replace(answer, kept=False)
    return answer


def repeat_answer(known: Released, unit: str) -> Answer:
    """Return an earlier answer again. It is public, so it costs nothing."""
    generated = GeneratedAnswer(
        known.answer,
        known.stopped,
        known.tokens,
        released=tuple(known.released),
        shares=known.shares,
        support=known.support,
        table=known.table,
        public_text=known.public_text,
    )
    receipt = replace(released_before(unit), reused=max(1, len(known.moments)), assumed=tuple(known.assumed))
    answer = Answer.of(generated, known.algorithm, receipt)
    return replace(answer, released_at=known.moments, follows=isinstance(known, Derived), unable=known.unable)


def widen_answer(
    history: AnswerCache, question: str, statistic: Statistic, answer: Answer, sample: LabelledSample
) -> Answer:
    """Return a statistic with intervals that cover what phrases get wrong as well. The sample is public: it is free.

    Raises:
        UsageError: if an earlier release has no counts.
    """
    own = _as_released(question, statistic, answer) if answer.counts else history.apart(statistic.set_apart)
    widened = (Releases([own]) if own else releases_of(history)).answer(question, statistic, sample)
    if widened is None:
        raise UsageError("This was released without its counts. Ask anew, and pay: --anew.")
    return replace(answer, text=widened.answer, table=widened.table)


def _as_released(question: str, algorithm: Algorithm, answer: Answer) -> Released:
    return Released(
        question,
        answer.text,
        answer.stopped,
        answer.algorithm,
        answer.tokens,
        choices=tell_apart(algorithm),
        released=answer.released,
        shares=answer.shares,
        support=answer.support,
        table=answer.table,
        public_text=answer.public_text,
        way=fingerprint(algorithm),
        counts=Counted(**vars(answer.counts)) if answer.counts else None,
        parts=algorithm.parts if isinstance(algorithm, Statistic) else None,
        epsilon=answer.receipt.epsilon if answer.receipt else None,
        assumed=answer.receipt.assumed if answer.receipt else (),
    )


# --- statistics that follow from released ones ------------------------------------------------------------------------
# Statistics that follow from released ones: complements, parts, shares and differences. They are free.
#
# Differential privacy is closed under post-processing. A released statistic counts the units of several regions
# (`statistics.conditions`). A number that is asked for is the sum of some of these counts, or the
# difference: the units of which A does not hold are all units without those of which it holds. What is found depends on
# the question and on the releases alone. So it reveals nothing of the documents, not even whether they changed between
# two releases: numbers of different moments are about the documents of these moments, and the answer names them.

Cell = tuple[int, int]
"""A released count: the number of its release, and of its cell."""
Sum = Mapping[Cell, int]
"""A sum of released counts: the weight of each."""


@checked_dataclass(frozen=True)
class Derived(Released):
    """An answer that follows from releases.

    Attributes:
        of: the releases, in their order of time.
    """

    of: tuple[Released, ...] = field(default=(), kw_only=True)
    lacks: int | None = field(default=0, kw_only=True)

    @property
    def unable(self) -> int | None:
        """How many units at most the numbers lack, since they could not pay; None if it may be any number."""
        return self.lacks

    @property
    def moments(self) -> tuple[str, ...]:
        """The moments of the releases."""
        return tuple(moment for one in self.of for moment in one.moments)


def releases_of(history: AnswerCache) -> "Releases":
    """Return the counts of all released statistics of a history."""
    return history.made_of_all(Releases, lambda before, new: Releases(new, before))


def derive(releases: Iterable[Released], question: str, statistic: Statistic) -> Derived | None:
    """Return the answer that follows from releases; None if none does. No document has any influence."""
    return Releases(releases).answer(question, statistic)


def check_sample(statistic: Algorithm, sample: LabelledSample) -> None:
    """Refuse a sample that says too little of a statistic, before anything is paid.

    Raises:
        UsageError: if it does, or if no sample helps such a statistic.
    """
    regions = asked_of(statistic) if isinstance(statistic, Statistic) else []
    if not isinstance(statistic, Statistic) or not regions:
        raise UsageError(
            f"A labelled sample widens the intervals of counts, differences, shares and comparisons, not of a "
            f"'{statistic.name}'. Ask without --labelled."
        )
    sums = [{number: 1} for number in range(len(regions))]
    for _, said in _checked(statistic, regions, sums):
        sample.check(said)


def statistic_of(released: Released) -> Statistic | None:
    """Return the statistic that was released; None if its parts are not known."""
    try:
        if released.parts is None:
            return None
        return KINDS[released.algorithm](**released.parts)
    except (KeyError, TypeError, AttributeError, DiscreetError):
        return None  # a damaged line, or one of another version


class Releases:
    """The counts of released statistics, by the regions that they count."""

    def __init__(self, releases: Iterable[Released], before: "Releases | None" = None) -> None:
        self._counted: dict[int, tuple[Released, Counted]] = dict(before._counted) if before else {}
        self._direct: dict[Region, Sum] = dict(before._direct) if before else {}
        for number, released in enumerate(releases, max(self._counted, default=-1) + 1):
            statistic = statistic_of(released) if released.counts else None
            if not isinstance(statistic, counts.Count | counts.Share | counts.Difference) or released.counts is None:
                continue
            if len(released.counts.counts) != statistic.cells:
                continue
            self._counted[number] = released, released.counts
            for region, cells in statistic.known.items():  # a later release takes the place of an earlier one
                self._direct[region] = {(number, cell): weight for cell, weight in cells.items()}

    def answer(self, question: str, statistic: Statistic, sample: LabelledSample | None = None) -> Derived | None:
        """Return the answer to a statistic, or None; with a sample, its intervals cover what phrases get wrong, too."""
        regions = asked_of(statistic)
        sums = [self._sum(condition.facts()) for condition in regions]
        known_sums = [one for one in sums if one is not None]
        if not regions or len(known_sums) != len(sums):
            return None
        cells = sorted({cell for one in known_sums for cell in one})
        place = {cell: number for number, cell in enumerate(cells)}
        weights = [{place[cell]: weight for cell, weight in one.items()} for one in known_sums]
        counted = self._joined(cells)
        if sample is not None:
            checked = {key: sample.check(said) for key, said in _checked(statistic, regions, weights)}
            counted = Widened(counted.counts, counted.deviations, counted.gaussian, counted.unable, checked)
        text, table = _say(statistic, counted, weights)
        if isinstance(statistic, counts.Share) and sample is None:
            text, table = statistic.with_words((text, table))
        if sample is not None and any(one.pooled for one in checked.values()):
            text = f"{text} {_POOLED}"
        of = tuple(self._counted[number][0] for number in sorted({number for number, _ in cells}))
        text = f"{text} {_combines(of)}" if len(of) > 1 else text
        assumed = tuple(dict.fromkeys(each for one in of for each in one.assumed))
        return Derived(
            question,
            text + counted.note,
            "end",
            statistic.name,
            0,
            table=tuple(table),
            assumed=assumed,
            of=of,
            lacks=counted.unable,
        )

    def at_most(self, units: Condition) -> float:
        """Return the upper end of the number of units of a condition, by the newest release of it or of a larger one.

        An older release says less than it did: units may have been added since.
        """
        region = units.facts()
        sums = [cells for direct, cells in self._direct.items() if direct <= region]
        newest = max((number for cells in sums for number, _ in cells), default=0)
        last = [list(cells) for cells in sums if any(number == newest for number, _ in cells)]
        ends = (self._joined(cells).figure("", "count", Reckon(list(range(len(cells))))).high for cells in last)
        return min(ends, default=math.inf)

    def _sum(self, region: Region) -> Sum | None:
        """Return the sum of counts that is the number of units of a region: one release, or the least noise of two."""
        if region in self._direct:
            return self._direct[region]
        ways = [*self._rests(region), *self._unions(region), *self._eithers(region)]
        return min(ways, key=self._variance, default=None)

    def _rests(self, region: Region) -> Iterable[Sum]:
        """Yield the units of a larger region without those of the rest of it."""
        for fact in region:
            yield from self._combined([region - {fact}], [region - {fact} | {fact.opposite}])

    def _unions(self, region: Region) -> Iterable[Sum]:
        """Yield the units of two regions that are the region together."""
        for part in self._direct:
            if region < part and len(part) == len(region) + 1:
                (fact,) = part - region
                if fact.holds:
                    yield from self._combined([part, region | {fact.opposite}], [])

    def _eithers(self, region: Region) -> Iterable[Sum]:
        """Yield the units of which one of several facts holds, or all of two, by inclusion and exclusion."""
        for fact in region:
            base, facts = region - {fact}, fact.either
            if facts and fact.holds:
                yield from self._combined([base], [base | {one.opposite for one in facts}])
            if len(facts) == 2 and fact.holds:
                one, other = facts
                yield from self._combined([base | {one}, base | {other}], [base | {one, other}])
        for one, other in combinations(region, 2):
            base = region - {one, other}
            either = base | {either_of([frozenset([one]), frozenset([other])])}
            yield from self._combined([base | {one}, base | {other}], [either])
        for larger, fact in self._of_several:  # none of several: the rest of those of which one holds
            base = larger - {fact}
            if fact not in region and base | {one.opposite for one in fact.either} == region:
                yield from self._combined([base], [larger])

    @cached_property
    def _of_several(self) -> list[tuple[Region, Fact]]:
        """The regions that were released with a fact that one of several holds, and this fact."""
        return [(one, fact) for one in self._direct for fact in one if fact.either and fact.holds]

    def _combined(self, more: Sequence[Region], less: Sequence[Region]) -> Iterable[Sum]:
        """Yield the sum of some regions without others, if all of them were counted."""
        if all(region in self._direct for region in (*more, *less)):
            total: Sum = {}
            for region, sign in (*((one, 1) for one in more), *((one, -1) for one in less)):
                total = _plus(total, self._direct[region], sign)
            if total:
                yield total

    def _variance(self, of: Sum) -> tuple[float, Cell]:
        noise = self._joined(list(of)).deviations
        spread = sum(weight**2 * one**2 for weight, one in zip(of.values(), noise, strict=True))
        return spread, max(of)

    def _joined(self, cells: list[Cell]) -> Counted:
        """Return counts of several releases as one. The noise of each is independent of the others."""
        counted_cells = [(self._counted[number][1], cell) for number, cell in cells]
        unable = {number: self._counted[number][1].unable for number, _ in cells}.values()
        return Counted(
            tuple(one.counts[cell] for one, cell in counted_cells),
            tuple(one.deviations[cell] for one, cell in counted_cells),
            tuple(one.laws[cell] for one, cell in counted_cells),
            None if None in unable else sum(filter(None, unable)),
        )


def _combines(of: Sequence[Released]) -> str:
    """Return a sentence that says of which moments the counts of an answer are."""
    moments = " and ".join(minutes(moment for one in of for moment in one.moments))
    when = f", of {moments} (UTC)" if moments else ""
    return f"It combines {len(of)} releases{when}: if documents changed between them, ask anew (--anew)."


def _plus(one: Sum, other: Sum, sign: int) -> Sum:
    total = dict(one)
    for cell, weight in other.items():
        total[cell] = total.get(cell, 0) + sign * weight
    return {cell: weight for cell, weight in total.items() if weight}


_POOLED = (
    "The labelled sample says too little of these conditions alone, so the interval is an estimate from the errors of "
    "all its conditions together."
)


def asked_of(statistic: Statistic) -> list[Condition]:
    """Return the sets whose numbers answer a statistic, in the order in which `_say` reads them; none if none do."""
    if type(statistic) is counts.Count:
        return [statistic.members]
    base = statistic.base
    groups: list[tuple[Condition, ...]] = [(statistic.apart(one),) for one in getattr(statistic, "groups", ())]
    if isinstance(statistic, counts.Difference):
        return [narrowed(base, *group) for group in groups]
    if not isinstance(statistic, counts.Share):
        return []
    held = statistic.apart(statistic.condition)
    return [one for group in groups or [()] for one in (narrowed(base, *group, held), narrowed(base, *group))]


def _checked(
    statistic: Statistic, asked: Sequence[Condition], sums: Sequence[Mapping[int, int]]
) -> Iterator[tuple[Key, Sequence[Condition]]]:
    """Yield each sum of counts of an answer with the conditions of its units. Of a share, that of the rest is one, too.

    The tests of declared fields are left out: the texts of a sample have none.
    """
    yield from ((key_of(weights), _said(one)) for weights, one in zip(sums, asked, strict=True))
    if isinstance(statistic, counts.Share):
        held = of_person(~statistic.read(statistic.condition))
        for yes, of, whole in zip(sums[::2], sums[1::2], asked[1::2], strict=True):
            yield key_of(minus(of, yes)), _said(narrowed(whole, held))


def _said(condition: Condition) -> Sequence[Condition]:
    parts = condition.all if isinstance(condition, All) else (condition,)
    return [one for one in parts if not one.is_test and one != ALL]


def _say(statistic: Statistic, counted: Counted, sums: list[dict[int, int]]) -> tuple[str, list[Figure]]:
    """Return the answer of a statistic from the sums of its regions."""
    if isinstance(statistic, counts.Compare):
        return counts.say_shares(counted, statistic.groups, list(zip(sums[::2], sums[1::2], strict=True)))
    if isinstance(statistic, counts.Share):
        return counts.say_share(counted, *sums)
    if isinstance(statistic, counts.Difference):
        return counts.say_difference(counted, statistic.groups, (sums[0], sums[1]))
    return counts.say_count(counted, sums[0])


# --- answers without information --------------------------------------------------------------------------------------
# Public rules find them. They read the question and the released text alone, and cost nothing. In doubt, an answer is
# useful.

_POLAR = frozenset(("yes", "no"))
_YES_NO = frozenset(
    "is are was were am do does did can could will would should has have had may might must shall".split()
)
# Words that carry no answer by themselves, for any question.
_EMPTY = (
    ARTICLES
    | LABELS
    | LINKS
    | _YES_NO
    | frozenset(
        """
        not no yes nor none nothing unknown unclear unsure known said stated given mentioned specified
        provided available there here be being and or but so as if of for in on at to from with by among
        within about than into per both text note summary information detail description report say state
        mention describe summarize summarise contain provide include refer use i you we who what which when
        where why how following based according regarding
        """.split()
    )
)
_YEAR = re.compile(r"\s*(?:(?:in|since|until|by) )?(?:which|what) year\b(?! of)", re.IGNORECASE)
# The words of `_EMPTY` that may answer "A or B?".
_ALTERNATIVES = ARTICLES | frozenset(("both", "none"))


def useless(question: str, text: str, released: Sequence[str] = (), choices: Sequence[str] = ()) -> str:
    """Return the reason why a released answer has no information; an empty text if it may have some.

    Args:
        question: the question.
        text: the released answer.
        released: the short answer or the keywords in it.
        choices: the public choices of the answer. A choice always has information.
    """
    question_words = words_of(question)
    if choices:
        return ""
    either = "or" in question_words  # the answer to "A or B?" is a word of the question
    said = [words_of(one) for one in (text, *released)]
    if question_words and question_words[0] in _YES_NO and any(_decides(words) for words in said):
        return ""
    forms = {form for word in question_words for form in _forms(word)}
    empty = _EMPTY - _ALTERNATIVES if either else _EMPTY
    new = [word for words in said for word in words if not _forms(word) & empty]
    if not new:
        return "it says nothing"
    if _YEAR.match(question) and not any(letter.isdigit() for one in (text, *released) for letter in one):
        return "it names no year"
    if not either and all(_forms(word) & forms for word in new):
        return "it only repeats the question"
    return ""


def _decides(words: Sequence[str]) -> bool:
    """Return whether an answer begins with yes or no, and does not repeat these words alone."""
    return bool(words) and words[0] in _POLAR and (len(words) == 1 or not set(words) <= _POLAR)


def _forms(word: str) -> frozenset[str]:
    """Return a word and its possible stems."""
    stems = [word]
    for ending in ("s", "es", "d", "ed", "ing", "'s"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            stems.append(word[: -len(ending)])
    return frozenset(stems)
