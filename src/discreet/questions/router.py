"""The decision about a question, made once, from public values alone: its request, and the algorithm that answers it.

Every face asks here: the command line, Python, the server, MCP and the adapters. So the same text has the same request,
price and refusal in all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.statistics.conditions import Says
from discreet.algorithms.statistics.statistic import Statistic
from discreet.algorithms.statistics.trend import Trend
from discreet.config import VaultConfig
from discreet.errors import UsageError
from discreet.query.in_english import stand_in
from discreet.query.question_kinds import check_answerable
from discreet.questions.request import FACT, Request, check_kind, is_request, parse_request, request_of_statistic
from discreet.query.requests import Kind
from discreet.query.statistics import build_statistic, of_request, statistic_asked
from discreet.query.validation import normalize_question
from discreet.retrieval.attribute_schema import AttributeSchema

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
    def echo(self) -> str:
        """The request in words: its text form, and of how many records each phrase is."""
        return f"{self.request}{_records(self.algorithm)}"


@dataclass(frozen=True)
class Router:
    """Decides about questions to one vault.

    Attributes:
        settings: its configuration.
        language: the language that its model reads; "" for any.
        schema: the schema under which its documents were read; None if there is none.
    """

    settings: VaultConfig
    language: str
    schema: AttributeSchema | None

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
            CannotAnswer: if it is of no kind that is answered, or a part of it would be lost.
            UsageError: if it is no sound request, or its statistic has no such parameter.
        """
        if isinstance(asked, Request) or is_request(asked):
            request = asked if isinstance(asked, Request) else parse_request(asked)
            if request.kind != FACT:
                if not statistics or choices:
                    raise UsageError("A statistic is asked of the vault's own model, by no other one, without choices.")
                found = of_request(request, self.settings, given(), self.schema)
                return Decision(str(request), request_of_statistic(found), found)
            if choices and request.choices and tuple(choices) != request.choices:
                raise UsageError("Choices stand in two places, and differ. Give them once.")
            question, choices = request.question, request.choices or tuple(choices)
        else:
            check_kind(asked)
            question = stand_in(asked, self.settings, self.language)
            if statistics and not choices and (statistic := self._statistic(question, given, kind)) is not None:
                return Decision(question, request_of_statistic(statistic), statistic)
        question = normalize_question(question)
        algorithm = usual(question, tuple(choices))
        if check:
            public = tuple(choices) or algorithm.public_choices
            check_answerable(question, language=self.language, unit=self.settings.unit_field, choices=public)
        return Decision(question, Request(kind=FACT, question=question, choices=tuple(choices)), algorithm)

    def _statistic(self, question: str, given: Callable[[], Mapping[str, Any]], kind: str) -> Statistic | None:
        found = statistic_asked(question, self.settings, self.language, self.schema)
        if kind and found is None:
            raise UsageError(
                f"The question asks for no statistic that the rules know, so its parts for {kind} are unknown. "
                f'Write the request: {kind}: "fever", among "winter hand"'
            )
        if found is None:
            return None
        asked = replace(found, kind=cast(Kind, kind)) if kind else found
        build = partial(build_statistic, asked, self.settings)
        return build(given(), self.schema, question)


def _records(algorithm: Algorithm) -> str:
    """Return of how many records the phrases are, where that makes a difference."""
    if not isinstance(algorithm, Statistic):
        return ""
    phrases = sum(isinstance(leaf, Says) for one in algorithm.conditions for leaf in one.leaves())
    if not any(one.is_of_records for one in algorithm.conditions) and not isinstance(algorithm, Trend):
        return " (in any notes)" if phrases > 1 else ""
    said = [fact for fact in algorithm.members.facts() if fact.decides[0] == "says"]
    return " (in one note)" if phrases == 1 and said and said[0].within else ""
