"""The algorithm of each question of `discreet ask`: the one that is named, or a statistic that is asked for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.statistics.statistic import Statistic, in_words
from discreet.cli.output import err, out, print_json
from discreet.cli.parameters import choose_algorithm, parse_for_any
from discreet.cli.questions import Check, answerable
from discreet.errors import UnknownName, UsageError
from discreet.parameters import read_assignments
from discreet.planning.prices import times
from discreet.query.requests import Kind
from discreet.query.statistics import KINDS, build_statistic, check_known, statistic_asked
from discreet.query.words import such_questions, unit_word
from discreet.system.plain import Sparse, Unbounded
from discreet.vault import Vault

_HOW_IT_READS = {"units_per_voter", "document_tokens", "passage_tokens", "max_tokens"}
NEED_A_MODEL = {"readings", "inner", "prefix", "fallback"} | _HOW_IT_READS
"""Parameters that say how the model reads, or whether it does."""
NAME_CHOICES = "Note: a choice between named answers usually costs less. Name each: --choice ANSWER --choice ANSWER."
_EITHER = re.compile(r"(?:is|are|was|were|do|does|did|should|which|what)\b.+\bor\b", re.IGNORECASE)
FACT = "fact"
"""The kind of a question that voters answer."""


@dataclass(frozen=True)
class QuestionPriced(Sparse):
    """What a question would cost.

    Attributes:
        kind: the kind of the statistic, or fact.
        algorithm: the algorithm.
        epsilon: the most that the question would cost any one unit.
        granted: the epsilon of the grant.
        uses: how many such questions fit into the grant; None for a free one.
        set: the set of units, in words; absent for a fact.
        deviation: the standard deviation of the noise, in units; absent for a fact.
    """

    kind: str
    algorithm: str
    epsilon: Unbounded
    granted: float
    uses: int | None
    set: str | None = None
    deviation: Unbounded | None = None


def reads_before(vault: Vault, param: Sequence[str] | None, question: str = "") -> bool:
    """Return whether the vault's own algorithm answers a question by what was read before; any question if empty.

    A parameter that says how the model reads decides against it.
    """
    usual = vault.default_algorithm(question)
    return usual.needs_readings and not NEED_A_MODEL & read_assignments(param or ()).keys()


@dataclass(frozen=True)
class Chooser:
    """The choice of an algorithm for each question of a command, from public values alone.

    Attributes:
        vault: the vault.
        name: the algorithm that is named; "" for the usual one.
        param: the parameters, in their written form.
        given: the values of the command's own options.
        kind: the kind that is named; "" to find it from the question.
    """

    vault: Vault
    name: str
    param: Sequence[str]
    given: Mapping[str, Any]
    kind: str = ""

    def __post_init__(self) -> None:
        if self.kind and self.kind not in (FACT, *KINDS):
            raise UnknownName("kind of question", self.kind, (FACT, *KINDS))

    def choose(self, question: str) -> Algorithm:
        """Return the algorithm of a question.

        Raises:
            UsageError: if it has no such parameter, or the vault cannot release such a statistic.
        """
        return self._statistic(question) or self.usual(question)

    def usual(self, question: str = "") -> Algorithm:
        """Return the algorithm of a question that asks for no statistic.

        Raises:
            UsageError: if it has no such parameter.
        """
        usual, given = self.vault.default_algorithm(question), dict(self.given)
        if not self.name and reads_before(self.vault, self.param, question):
            given["readings"] = True
        algorithm: Algorithm = choose_algorithm(self.name or usual.name, self.param, given)
        return algorithm

    def check(self, choices: Sequence[str] = ()) -> Check:
        """Return a function that raises an error for a question of an unsupported kind."""
        usual = answerable(self.vault, choices)

        def check(question: str) -> None:
            found = self._statistic(question)
            if found is None:
                if self.name not in KINDS:
                    usual(question)
            elif not self.vault.pipeline.has_released(question, found):
                check_known(found, self.vault.settings, read=self.vault.components.readings.complete)

        return check

    def say_how_understood(self, question: str) -> None:
        """Print how rules understood a question for a statistic, since they may be wrong: its kind and its parts.

        It is public: it depends on the question, on the declared fields and on the schema.
        """
        found = self._statistic(question)
        if found is not None:
            err.print(f"Understood as: {in_words(found)}", markup=False)

    def offers_answers(self, question: str) -> bool:
        """Return whether a question names its possible answers ("with A or with B?"), and voters are asked openly."""
        open_ = not (self.name or self.given.get("choices") or self._statistic(question))
        return open_ and bool(_EITHER.match(question.strip()))

    def _statistic(self, question: str) -> Statistic | None:
        if self.name or self.kind == FACT or self.given.get("choices"):
            return None
        settings = self.vault.settings
        schema = self.vault.components.readings.schema
        request = statistic_asked(question, settings, self.vault.components.language, schema)
        if self.kind and request is None:
            raise UsageError(
                f"The question asks for no statistic that the rules know, so its parts for {self.kind} are unknown. "
                f"Name them: --algorithm {self.kind} --population ... --condition ..."
            )
        if request is None:
            return None
        own = {name: value for name, value in self.given.items() if value is not None and name == "epsilon"}
        asked = replace(request, kind=cast(Kind, self.kind)) if self.kind else request
        return build_statistic(asked, settings, _parsed(self.param) | own, schema)


def _parsed(param: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a statistic. Other parameters are refused."""
    return parse_for_any(list(KINDS), param) if read_assignments(param) else {}


def print_plan(vault: Vault, question: str, algorithm: Algorithm, *, as_json: bool) -> None:
    """Print what a question would cost, of what kind it is, and how far off a number may be. Nothing is paid."""
    estimate, grant = vault.estimate(question, algorithm), vault.ledger.budget
    price = 0.0 if estimate.released else estimate.epsilon
    uses = times(grant, estimate.most) if price else None
    unit = unit_word(vault.settings.unit_field)
    about = QuestionPriced(FACT, algorithm.name, price, grant.epsilon, uses)
    if isinstance(algorithm, Statistic):
        about = replace(about, kind=algorithm.name, set=str(algorithm.members), deviation=algorithm.deviation(grant))
    if as_json:
        print_json(about)
        return
    out.print(f"Kind: {about.kind}, by {algorithm.name}.", markup=False)
    if isinstance(algorithm, Statistic):
        out.print(f"Understood as: {in_words(algorithm)}", markup=False)
        out.print(f"Set: {about.set}. Only {unit}s in it pay.", markup=False)
        out.print(f"Noise of each count: a standard deviation of {about.deviation:.3g} {unit}s.", markup=False)
    if not price:
        out.print("Price: nothing, since its answer was released before.")
        return
    part = such_questions(uses)
    out.print(
        f"Price: at most epsilon {price:.4g} of {grant.epsilon:g} for each {unit}{part}. Nothing is paid yet.",
        markup=False,
    )
