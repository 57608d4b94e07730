"""The algorithm of each question of `discreet ask`: the one that is named, or a statistic that is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.algorithms.base import Algorithm
from discreet.algorithms.statistics.statistic import Statistic
from discreet.cli.output import err, print_json, say
from discreet.cli.parameters import choose_algorithm, parse_for_any
from discreet.errors import UnknownName
from discreet.parameters import read_assignments
from discreet.planning.prices import times
from discreet.planning.statistics import open_questions_left
from discreet.privacy.accounting import Spending
from discreet.questions.request import FACT, KINDS, check_known
from discreet.questions.router import Decision
from discreet.system.plain import Sparse, Unbounded
from discreet.system.words import unit_word
from discreet.vault import Vault

_HOW_IT_READS = {"units_per_voter", "document_tokens", "passage_tokens", "max_tokens"}
NEED_A_MODEL = {"readings", "inner", "prefix", "fallback"} | _HOW_IT_READS
"""Parameters that say how the model reads, or whether it does."""


@dataclass(frozen=True)
class QuestionPriced(Sparse):
    """What a question would cost.

    Attributes:
        kind: the kind of the statistic, or fact.
        algorithm: the algorithm.
        epsilon: the most that the question would cost any one unit.
        granted: the epsilon of the grant.
        uses: how many such questions fit into the grant; None for a free one.
        request: what is asked, in its text form.
        set: the set of units, in words; absent for a fact.
        deviation: the standard deviation of the noise, in units; absent for a fact.
        value_needs: how many units must share a value of a list or table so that it is named with probability 0.9.
        open_questions: in how many default open questions a unit can take part that paid nothing before, and after this
            statistic; absent if in as many.
        assumed: what the answer would take for granted about codes and earlier readings.
    """

    kind: str
    algorithm: str
    epsilon: Unbounded
    granted: float
    uses: int | None
    request: str
    set: str | None = None
    deviation: Unbounded | None = None
    value_needs: int | None = None
    open_questions: tuple[int, int] | None = None
    assumed: tuple[str, ...] = ()


def reads_before(vault: Vault, param: Sequence[str] | None, question: str = "") -> bool:
    """Return whether the vault's own algorithm answers a question by what was read before; any question if empty.

    A parameter that says how the model reads decides against it.
    """
    usual = vault.default_algorithm(question)
    return usual.spec.needs_readings and not NEED_A_MODEL & read_assignments(param or ()).keys()


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
        return self.decide(question).algorithm

    def decide(self, question: str, *, check: bool = False) -> Decision:
        """Return what is done with a question; with `check`, refuse one of a kind that voters cannot answer."""
        own = {name: value for name, value in self.given.items() if value is not None and name == "epsilon"}
        return self.vault.own_router.decide(
            question,
            self._usual_with,
            given=lambda: _parsed(self.param) | own,
            kind=self.kind if self.kind != FACT else "",
            choices=self.given.get("choices") or (),
            statistics=not (self.name or self.kind == FACT),
            check=check and self.name not in KINDS,
        )

    def _usual_with(self, question: str, choices: tuple[str, ...]) -> Algorithm:
        """Return the algorithm of a question that asks for no statistic, with the choices of a request."""
        if tuple(self.given.get("choices") or ()) == choices:
            return self.usual(question)
        return replace(self, given={**self.given, "choices": choices}).usual(question)

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

    def check(self, question: str) -> None:
        """Refuse a question of an unsupported kind, and a statistic that the vault cannot release. Nothing is paid."""
        decision = self.decide(question, check=True)
        statistic = isinstance(decision.algorithm, Statistic) and not self.name
        if statistic and not self.vault.pipeline.has_released(decision.question, decision.algorithm):
            parts = self.vault.components
            check_known(decision.algorithm, parts.asked_settings, read=parts.readings.complete)

    def say_how_understood(self, question: str) -> None:
        """Print how a question for a statistic was understood, since that may be wrong: as the request that is asked.

        It is public: it depends on the question, on the declared fields and on the schema.
        """
        decision = self.decide(question)
        if isinstance(decision.algorithm, Statistic) and not self.name:
            err.print(f"Understood as: {decision.echo}", markup=False)


def _parsed(param: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a statistic. Other parameters are refused."""
    return parse_for_any(list(KINDS), param) if read_assignments(param) else {}


def print_plan(vault: Vault, decision: Decision, *, as_json: bool) -> None:
    """Print what a question would cost, of what kind it is, and how far off a number may be. Nothing is paid."""
    question, algorithm = decision.question, decision.algorithm
    estimate, grant = vault.estimate(question, algorithm), vault.ledger.budget
    price = 0.0 if estimate.released else estimate.epsilon
    uses = times(grant, estimate.most) if price else None
    about = QuestionPriced(FACT, algorithm.name, price, grant.epsilon, uses, str(decision.request))
    if isinstance(algorithm, Statistic):
        about = replace(about, kind=algorithm.name, set=str(algorithm.members), deviation=algorithm.deviation(grant))
        about = replace(about, value_needs=algorithm.needs(grant), assumed=estimate.assumed)
        before, after = (open_questions_left(grant, paid) for paid in (Spending.nothing(), estimate.most))
        if price and after < before:
            about = replace(about, open_questions=(before, after))
    if as_json:
        print_json(about)
        return
    say("price.txt", about=about, echo=decision.echo, unit=unit_word(vault.settings.unit_field))
