"""`discreet ask`: answer questions by the algorithm that each one needs, and charge for the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.algorithms.base import Algorithm, Answer
from discreet.cli.answers import AnswerForm, TableFiles, ask_each
from discreet.cli.app import Json, VaultPath, app, complete_from
from discreet.cli.output import err, explained, print_json, say
from discreet.cli.parameters import Params, Plugin, accept_parameters, choose_algorithm, choose_name, parse_for_any
from discreet.errors import CannotAnswer, UnknownName, UsageError
from discreet.parameters import read_assignments
from discreet.planning.plan import open_questions_left
from discreet.planning.prices import times
from discreet.privacy.accounting import Spending
from discreet.questions import follow_ups as questions
from discreet.questions.follow_ups import Message, condense, is_follow_up, unclear
from discreet.questions.request import FACT, KINDS, check_known, parse_request
from discreet.questions.router import Decision
from discreet.registry import ALGORITHMS
from discreet.statistics.statistic import Statistic
from discreet.system.plain import Sparse, Unbounded
from discreet.system.words import LONGEST_TURN, MOST_TURNS, unit_word
from discreet.vault import Vault

# --- the algorithm of each question -----------------------------------------------------------------------------------


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


# --- follow-up questions ----------------------------------------------------------------------------------------------


_ALONE = 'It refers to an earlier question. Write the whole question, or name the one before it: --after "QUESTION".'


def turn(role: str, text: str) -> Message:
    """Return a message of a conversation, cut to the longest that the model reads."""
    return role, text[:LONGEST_TURN] or " "


def complete(vault: Vault, question: str, turns: Sequence[Message]) -> str:
    """Return a question as one that stands alone; it is printed if it is another one.

    Args:
        vault: the vault; its documents are not read.
        question: the question.
        turns: the questions before it, and their released answers, oldest first: all of it is public.

    Raises:
        CannotAnswer: if it is a follow-up, and no question can be made of it.
    """
    earlier_questions = [text for role, text in turns if role == "user"]
    whole, doubtful = questions.complete([*earlier_questions, question], vault.own_router)
    earlier = earlier_questions[-1] if earlier_questions else ""
    if doubtful:
        raise unclear(earlier)
    if not whole and not is_follow_up(question):
        return question
    if not earlier:
        raise CannotAnswer("follow-up", _ALONE)
    whole = whole or condense(vault.model, [*turns[1 - MOST_TURNS :], turn("user", question)])
    if not whole or is_follow_up(whole):
        raise unclear(earlier)
    err.print(f"The question that is asked: {whole}", markup=False)
    return whole


# --- discreet ask -----------------------------------------------------------------------------------------------------


@app.command()
@accept_parameters(ALGORITHMS.values())
@explained
def ask(
    vault: VaultPath,
    question: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUESTION...", help="One or more questions; - reads one a line from standard input."),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(help="The algorithm. List: discreet algorithms.", autocompletion=complete_from(ALGORITHMS)),
    ] = None,
    plugin: Plugin = None,
    param: Params = None,
    epsilon: Annotated[float | None, typer.Option(help="Maximum cost of a question.")] = None,
    choice: Annotated[list[str] | None, typer.Option(help="A public answer to choose. Repeatable.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Maximum length of an answer.")] = None,
    not_private: Annotated[bool, typer.Option("--not-private", help="Allow algorithms without a guarantee.")] = False,
    corpus: Annotated[Path | None, typer.Option(help="Answer from a synthetic corpus, free.")] = None,
    propose: Annotated[
        Path | None, typer.Option(metavar="CORPUS", help="A public corpus whose answers need fewer votes.")
    ] = None,
    request: Annotated[
        list[str] | None,
        typer.Option(metavar="REQUEST", help='What is asked, in its text form: \'count: "fever" or "rash"\'.'),
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Ask again, and pay again.")] = False,
    reuse: Annotated[bool, typer.Option("--reuse/--no-reuse", hidden=True)] = True,
    public: Annotated[bool, typer.Option("--public/--no-public", hidden=True)] = True,
    after: Annotated[
        str | None, typer.Option(metavar="QUESTION", help="The question to which this one refers.")
    ] = None,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="fact, count, share, list, ...")] = None,
    table: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the numbers as CSV.", hidden=True)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the numbers: .svg, .png or .pdf.", hidden=True)
    ] = None,
    labelled: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Public texts with their truth: intervals cover errors.", hidden=True),
    ] = None,
    show_plan: Annotated[bool, typer.Option("--plan", help="Print kind and price, and stop.")] = False,
    anyway: Annotated[bool, typer.Option("--anyway", help="Ask also unsupported kinds of questions.")] = False,
    quantum: Annotated[
        float,
        typer.Option("--latency-step", metavar="SECONDS", help="Answer at multiples of this time.", show_default=False),
    ] = 0.0,
    show_public: Annotated[
        bool, typer.Option("--show-public", help="Show the model's answer if none is released.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show mechanisms and payments.")] = False,
    as_json: Json = False,
) -> int:
    """Ask a question, and charge for the answer.

    Further options: --csv, --plot, --labelled, --no-reuse, --no-public.
    Parameters, such as --where and --uses: discreet algorithms show NAME.
    """
    algorithm = choose_name(algorithm, plugin)
    given = {"epsilon": epsilon, "choices": tuple(choice) if choice else None, "max_tokens": max_tokens}
    opened, shown = Vault.open(vault), AnswerForm(as_json, show_public, verbose, named=after is not None)
    question = _completed(opened, [*(question or ()), *(str(parse_request(text)) for text in request or ())], after)
    if corpus is not None:
        flags = {
            "not_private": not_private,
            "anew": anew,
            "no_reuse": not reuse,
            "no_public": not public,
            "latency_step": quantum,
            "propose": propose,
            "labelled": labelled,
        }
        free = parse_for_any(["non-rag"], [text for text in param or () if _is_free(text)], {"max_tokens": max_tokens})
        others = {name: True for name in read_assignments(param or ()) if not _is_free(name)}
        _check_free({"algorithm": algorithm, **given, **others} | {name: True for name, on in flags.items() if on})
        read = partial(
            opened.ask_corpus, corpus=corpus, max_tokens=free.get("max_tokens") or 32, prefix=free.get("prefix", "")
        )
        return ask_each(opened, question, read, shown=shown)
    kind = kind or (FACT if propose or not_private or anyway else "")
    chooser = Chooser(opened, algorithm or "", param or (), given, kind)
    check = None if anyway or not_private else chooser.check
    if show_plan:
        for one in question:
            if check is not None:
                check(one)
            print_plan(opened, chooser.decide(one), as_json=as_json)
        return 0

    if opened.components.unfinished.batches and not as_json:
        err.print("An addition to this vault did not end, or still runs: answers may leave documents out.")
    files = TableFiles(table, plot)
    files.check(len(question), vault)

    def paid(asked: str) -> Answer:
        if not as_json:
            chooser.say_how_understood(asked)
        answer = opened.ask(
            asked,
            chooser.choose(asked),
            not_private=not_private,
            reuse=reuse,
            anew=anew,
            public=public,
            quantum=quantum,
            propose=propose,
            labelled=labelled,
        )
        files.write(answer)
        return answer

    return ask_each(opened, question, paid, check, shown=shown)


def _completed(vault: Vault, questions: list[str], after: str | None) -> list[str]:
    """Return the questions; the only one as one that stands alone, if the question before it is given."""
    if not questions:
        raise UsageError("Ask a question: discreet ask VAULT 'How many patients have fever?' Or give a --request.")
    if after is None:
        return questions
    if len(questions) > 1 or questions == ["-"]:
        raise UsageError("--after goes with one question, that is given as an argument. Ask the others by themselves.")
    return [complete(vault, questions[0], [turn("user", after)])]


def _is_free(text: str) -> bool:
    """Return whether an answer from a synthetic corpus has this parameter."""
    return text.partition("=")[0].strip().replace("-", "_") in ("max_tokens", "prefix")


def _check_free(options: dict[str, Any]) -> None:
    """Check that an answer from a synthetic corpus has all given options.

    Raises:
        UsageError: if an option needs voters.
    """
    given = [name for name, value in options.items() if value is not None and name not in ("max_tokens", "prefix")]
    if given:
        names = ", ".join(f"--{name.replace('choices', 'choice').replace('_', '-')}" for name in given)
        raise UsageError(
            f"--corpus cannot be combined with {names}: an answer from a synthetic corpus asks no voters. It has only "
            "--max-tokens and --prefix. Omit the other options, or ask without --corpus."
        )
