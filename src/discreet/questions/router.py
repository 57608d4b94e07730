"""The decision about a question, made once, from public values alone: its request, and the algorithm that answers it.

Every face asks here: the command line, Python, the server, MCP and the adapters. So the same text has the same request,
price and refusal in all of them.

A question in words has a kind (`kinds`) and slots (`understanding`). In doubt about either, nothing is paid: the
readings are named as requests, to choose from. If the custodian named a model for it (`model_parser`), this is asked
first.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, product
from typing import Any, Literal

from discreet.algorithms.base import Algorithm
from discreet.config import VaultConfig, field_values
from discreet.errors import CannotAnswer, EngineFailed, UsageError
from discreet.questions import kinds
from discreet.questions.foreign import is_foreign
from discreet.questions.kinds import Guess, guess_kind
from discreet.questions.model_parser import ModelParser, instruct
from discreet.questions.request import (
    FACT,
    Request,
    check_kind,
    check_known,
    is_request,
    of_request,
    parse_request,
    public_field,
    request_of_statistic,
)
from discreet.questions.sentences import (
    LONGEST,
    Nouns,
    Section,
    named_choices,
    normalize_question,
    nouns_of,
    sentence_of,
    table,
)
from discreet.questions.statements import ALL_SAY, VAGUE, split_groups
from discreet.questions.understanding import check_whole, read_condition, read_foreign, read_request
from discreet.questions.vocabulary import check_spelling, quoted_in, widen
from discreet.statistics.conditions import Condition, Says
from discreet.statistics.statistic import Statistic
from discreet.statistics.trend import MONTHS, Trend
from discreet.store.codebook import Codebook

_ROUTER = Section("router")

_ADVICE: dict[str, str] = table("router.advice")
NAMES = tuple(_ADVICE)
"""The kinds of refusals."""
_NAMES = {
    "share": "count",
    "trend": "count",
    "typical": "count",
    "versus": "comparison",
    "two-questions": "two-things",
    "nothing": "nothing-named",
}
"""The kinds of refusals that have another name than the kind of the question."""
_CHOSEN = frozenset(("count", "comparison", "list", "nothing-named", "summary", "superlative"))
"""The kinds of which public choices make a choice."""
_LEAST = 0.4
"""A statistic that is less likely than this is not asked."""
_PERSON = 0.5
"""A question that is about one individual with this probability is refused."""
_DOUBT = 0.3
"""A question that is a statistic, or of a kind that is refused, with this probability is not asked of voters."""
_DOUBTS = ("unsure", "other-language")
"""The refusals of a question that the rules do not understand."""
_READINGS = 3
_THEMES = ("list", "summary", "superlative", "trend", "versus")
"""The kinds of questions that may ask for the public values of a code or category."""

Usual = Callable[[str, tuple[str, ...]], Algorithm]
"""Returns the algorithm of a question that asks for no statistic, with its public choices."""


@dataclass(frozen=True)
class Decision:
    """What is done with a question: public.

    Attributes:
        question: the question that is asked: the given one, or one in English in its place.
        request: what is asked, in data.
        algorithm: what answers it.
    """

    question: str
    request: Request
    algorithm: Algorithm

    @property
    def lane(self) -> Literal["records", "voters"]:
        """Whose time the answer takes: the model's, or that of a look at what is kept of the documents."""
        return "voters" if self.algorithm.spec.needs_model else "records"

    @property
    def echo(self) -> str:
        """The request in words: its text form, and of how many records each phrase is."""
        return f"{self.request}{_records(self.algorithm)}"


@dataclass(frozen=True)
class Router:
    """Decides about questions to one vault.

    Attributes:
        settings: its configuration.
        language: the language that its model reads; "" for any.
        schema: the book under which its documents were read; None if there is none.
        book: the book of its codes; None if the records were not coded.
        parser: what makes requests of questions in doubt; None if the custodian named none.
        earlier: the caller's own earlier questions, and what was released to the caller; never another caller's.
    """

    settings: VaultConfig
    language: str
    schema: Codebook | None
    parser: ModelParser | None = None
    book: Codebook | None = None
    earlier: tuple[str, ...] = ()

    def decide(
        self,
        asked: str | Request,
        usual: Usual,
        *,
        given: Callable[[], Mapping[str, Any]] = dict,
        kind: str = "",
        choices: Sequence[str] = (),
        statistics: bool = True,
        check: bool = True,
    ) -> Decision:
        """Return the decision about a question or a request.

        Args:
            asked: a question, a request, or the text form of one.
            usual: the algorithm if no statistic is asked for.
            given: returns parameters of a statistic, such as `epsilon` and `where`; called for a statistic alone.
            kind: the kind that a question in words is taken for; "" to find it.
            choices: public answers; with them, voters are asked.
            statistics: whether a question in words may be one for a statistic.
            check: whether a question of a kind that voters cannot answer is refused.

        Raises:
            CannotAnswer: if it is of no kind that is answered, a part of it would be lost, or its reading is in doubt.
            UsageError: if it is no sound request, or its statistic has no such parameter.
        """
        if not isinstance(asked, Request):
            asked = normalize_question(asked)
        stated = isinstance(asked, Request) or is_request(asked)
        in_words = statistics and not (stated or choices or kind) and self.settings.payment == "unit"
        if self.parser and in_words and len(str(asked)) <= LONGEST:
            by_rules = partial(replace(self, parser=None).decide, usual=usual, given=given)
            return self._decide_by_model(self.parser, str(asked), by_rules, check=check)
        if isinstance(asked, Request) or is_request(asked):
            request = asked if isinstance(asked, Request) else parse_request(asked)
            if request.kind != FACT and (not statistics or choices):
                raise UsageError("A statistic is asked of the vault's own model, by no other one, without choices.")
            if choices and request.choices and tuple(choices) != request.choices:
                raise UsageError("Choices stand in two places, and differ. Give them once.")
            choices, text = request.choices or tuple(choices), str(request)
        else:
            check_kind(asked)
            if kind and choices:
                raise UsageError("A kind of statistic has no choices: voters would be asked. Give one of the two.")
            found = self.understand(asked, kind) if statistics and not choices else None
            if found is None and statistics and not choices:
                choices = named_choices(asked)
            request, text = found or Request(kind=FACT, question=asked, choices=tuple(choices)), asked
        if request.kind != FACT:
            statistic = of_request(request, self.asked_settings, given(), self.schema, self.book)
            return Decision(text, request_of_statistic(statistic), statistic)
        question = normalize_question(request.question)
        algorithm = usual(question, tuple(choices))
        if check:
            self._check_votes(question, tuple(choices) or algorithm.spec.choices, stated=stated)
        return Decision(question, Request(kind=FACT, question=question, choices=tuple(choices)), algorithm)

    def understand(self, question: str, kind: str = "") -> Request | None:
        """Return the request for a statistic that a question makes; None if it makes none.

        Args:
            question: the question, in words.
            kind: the kind that it is taken for; "" to find it.

        Raises:
            CannotAnswer: if a part of it would be lost, or its reading is in doubt.
        """
        if self.settings.payment != "unit" or len(question) > LONGEST:
            return None
        if foreign := read_foreign(question, self.settings.fields, self._nouns):
            return self._widened(question, foreign)
        guess = guess_kind(question)
        if kind in ("", "list", "summary") and (found := self._themes(question, kind or guess.kind)):
            check_spelling(question, found.phrases, self._named())
            return self._widened(question, found)
        wanted = kind or (guess.kind if guess.kind != "fact" or not self._asks_for_values(question) else "list")
        if not kind and (wanted not in kinds.STATISTICS or is_foreign(question, self.language or "en")):
            return None
        found = read_request(question, wanted, self.settings.fields, self._nouns)
        if found is None or (not kind and wanted == guess.kind and guess.confidence < _LEAST):
            raise self._refusal("unsure", question, guess)
        check_spelling(question, found.phrases, self._named())
        return self._widened(question, found)

    def _widened(self, question: str, request: Request) -> Request:
        return widen(request, self.settings.synonyms, quoted_in(question), self.book)

    @cached_property
    def asked_settings(self) -> VaultConfig:
        """The settings as requests see them: with the codes among the declared fields."""
        return self.settings.with_codes(self.book.fields) if self.book else self.settings

    def _themes(self, question: str, kind: str) -> Request | None:
        """Return the request for the public values of what a question lists, by the groups that it names.

        None if it lists something whose values are not public, or is no list.
        """
        settings, first = self.asked_settings, self.book.coded[0].name if self.book else ""
        named = [name.replace("_", " ") for name, kind in settings.fields.items() if field_values(kind)]
        named += [word for one in (self.book.coded if self.book else ()) for word in one.words]
        text = sentence_of(question)
        vague = bool(first) and VAGUE.search(text) is not None
        if not named or (kind not in _THEMES and not vague):
            return None
        text, by = split_groups(text, named)
        forms = ("summary",) if kind == "summary" and first else ("list", "trend") if kind == "trend" else ("list",)
        # In its own words first: "complaints of patients with breathing problems" names its attribute.
        texts = dict.fromkeys((text, VAGUE.sub(first, text, 1) if vague else text))
        asked = list(product(texts, forms))
        if kind == "summary" and ALL_SAY.match(text):  # what all say of themselves, before what is said of a population
            asked.insert(0, (ALL_SAY.sub("what do ", text), "list"))
        for text, form in asked:
            with suppress(UsageError):
                found = read_request(text, form, self.settings.fields, self._nouns)
                said = first if form == "summary" else next(iter((*found.phrases[::-1], "")), "") if found else ""
                if found is not None and (attribute := public_field(said, settings, self.book)):
                    by = by or ("month" if form == "trend" else "")
                    by = by if by in MONTHS or not by else public_field(by, settings, self.book)
                    among = found.among if form != "trend" or found.of else None
                    most = found.most if found.most > 1 else 0
                    return Request(kind="themes", attribute=attribute, by=by, most=most, among=among)
        return None

    def _asks_for_values(self, question: str) -> bool:
        """Return whether a question asks which values a declared field has: no voter sees fields."""
        names = "|".join(re.escape(name.replace("_", " ")) for name in self.settings.fields)
        asks = rf"(?:which|what|list|name|show)(?: me)? (?:the |all |our )*(?:{names})s?\b"
        return bool(names) and re.match(asks, sentence_of(question), re.IGNORECASE) is not None

    def _named(self) -> Iterator[str]:
        """Yield the words that are public in the vault, and those of the caller's own earlier questions."""
        yield from self.earlier
        yield from self.settings.fields
        for value, labels in chain(*(field_values(one).items() for one in self.settings.fields.values())):
            yield from (value, *labels)
        yield from self.schema.names if self.schema else ()
        yield from self._synonyms

    @property
    def plural(self) -> str:
        """The word for several units: "patients"."""
        return self._nouns.plural

    def condition(self, part: str) -> Condition:
        """Return a part of a question as a condition: "women with asthma".

        Raises:
            CannotAnswer: if it states none.
        """
        return read_condition(part, self.settings.fields, self._nouns)

    @cached_property
    def _nouns(self) -> Nouns:
        numbers = (one.called for one in (self.schema.attributes if self.schema else ()) if one.type == "number")
        codes = chain(*(one.values for one in self.book.coded)) if self.book else ()
        words = chain(self._synonyms, *((one.name, *one.words) for one in codes))
        nouns = nouns_of(self.settings.unit_field, (*self.settings.fields, *chain(*numbers)))
        return replace(nouns, things=frozenset(one.partition("@")[0].casefold() for one in words))

    @property
    def _synonyms(self) -> Iterator[str]:
        return chain.from_iterable((name, *others) for name, others in self.settings.synonyms.items())

    def _decide_by_model(
        self, parser: ModelParser, question: str, decide: Callable[..., Decision], *, check: bool
    ) -> Decision:
        """Return the decision of the rules, if it is certain; otherwise that about the request that a model makes.

        Args:
            parser: asks the model.
            question: the question, in words.
            decide: decides without a model.
            check: whether a question is refused that neither the rules nor the model understand.

        Raises:
            CannotAnswer: with the readings of the rules, if the model makes no request that the vault can answer.
        """
        found, request, doubt = None, None, CannotAnswer("other-language", "The rules for questions read English.")
        foreign = is_foreign(question, "en")  # the classifier knows English: it is no fact for sure
        try:
            found = decide(question)
            if not foreign or isinstance(found.algorithm, Statistic):
                return found
        except CannotAnswer as refused:
            if refused.kind not in _DOUBTS or (not foreign and guess_kind(question).shares["person"] >= _PERSON):
                raise
            doubt = refused
        try:
            names = tuple(self.schema.names) if self.schema else ()
            told = instruct(self.settings.fields, names, self.plural, self.language)
            if request := parser.request(question, told):
                check_whole(request, self._nouns)
                made: Decision = decide(self._widened(question, request))
                check_known(made.algorithm, self.asked_settings, read=True)
                return made if request.kind == FACT else replace(made, question=question)
            why = "The model that reads questions made no request of it."
        except EngineFailed as error:
            found, why = None, str(error)
        except UsageError as error:
            read = f"A model read it as {request}. " if request else ""
            why = f"{read}{error.advice if isinstance(error, CannotAnswer) else error}"
        if found is not None:
            return found
        if not check:
            return decide(question, check=False)
        raise CannotAnswer(doubt.kind, f"{doubt.advice} {why}")

    def _check_votes(self, question: str, choices: Sequence[str], *, stated: bool) -> None:
        """Refuse a question that voters cannot answer. Public: no document is read.

        Args:
            question: the question.
            choices: its public choices.
            stated: whether it was said to be one for voters: there is no doubt about it, then.
        """
        if is_foreign(question, self.language):
            raise self._refusal("other-language", question)
        if len(question) > LONGEST or is_foreign(question, "en"):
            return  # a long text, or a language that the classifier does not know, and the model does
        guess = guess_kind(question)
        if guess.shares["person"] >= _PERSON:
            raise self._refusal("person", question, guess)
        name = _NAMES.get(guess.kind, guess.kind)
        if guess.kind == "fact":
            doubt = guess.among(kinds.STATISTICS) >= _DOUBT and not choices
        else:
            doubt = guess.shares["fact"] >= _DOUBT
            if not doubt and not (choices and name in _CHOSEN):
                raise self._refusal(name, question, guess)
            doubt = doubt and not choices
        if doubt and not stated:
            raise self._refusal("unsure", question, guess)

    def _refusal(self, name: str, question: str, guess: Guess | None = None) -> CannotAnswer:
        language = "English" if self.language == "en" else self.language
        readings = " Or: ".join(self._readings(question, guess)) if guess and name == "unsure" else ""
        parts = " And: ".join(self._parts(question)) if name == "two-things" else ""
        return CannotAnswer(name, _ADVICE[name].format(language=language, readings=readings, parts=parts))

    def _parts(self, question: str) -> Iterator[str]:
        """Yield the questions in a sentence that is two: as requests, where they are understood."""
        for part in _ROUTER.another.split(sentence_of(question)):
            found = None
            with suppress(UsageError):
                found = self.understand(part)
            yield str(found or f"{part}?")

    def _readings(self, question: str, guess: Guess) -> Iterator[str]:
        """Yield what a question may mean, as requests, the likeliest one first."""
        asked = [kind for kind in kinds.KINDS if kind in kinds.STATISTICS or kind == FACT]
        made = 0
        for kind in sorted(asked, key=lambda kind: (-guess.shares[kind], kind)):
            with suppress(UsageError):
                found = None if kind == FACT else read_request(question, kind, self.settings.fields, self._nouns)
                if (found or kind == FACT) and made < _READINGS:
                    made += 1
                    yield str(found or f"fact: {question}")


def _records(algorithm: Algorithm) -> str:
    """Return of how many records the phrases are, where that makes a difference."""
    if not isinstance(algorithm, Statistic):
        return ""
    phrases = sum(isinstance(leaf, Says) for one in algorithm.conditions for leaf in one.leaves())
    if not any(one.is_of_records for one in algorithm.conditions) and not isinstance(algorithm, Trend):
        return " (in any notes)" if phrases > 1 else ""
    said = [fact for fact in algorithm.members.facts() if fact.decides[0] == "says"]
    return " (in one note)" if phrases == 1 and said and said[0].within else ""
