"""`discreet init`: a new vault."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.prompt import FloatPrompt, IntPrompt, Prompt

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import err, explained, out, print_json
from discreet.config import PAYMENTS
from discreet.errors import UsageError
from discreet.planning.askable import fewest_units
from discreet.planning.grants import SUGGESTED_EPSILON, check_grant, check_people, suggested_delta
from discreet.planning.models import check_parts
from discreet.planning.prices import times, usual_algorithm, vault_budget
from discreet.query.words import unit_word
from discreet.reading.fields import check_types
from discreet.vault import Vault

_ANY_VOCABULARY = 1000  # costs do not depend on it
_UNIT = """
Which column or field of your files names the individual? The promise is made to what it names.
If your files have no such field (letters, PDF), take any word, such as patient."""
_PEOPLE = """
How many people? The number need not be exact, and it is public: it is written into the vault's settings.
Delta must be far below one over it, and a question that needs more people is refused."""
_EPSILON = """
Epsilon bounds what all answers together can reveal about any one person; it cannot be raised later.
2 is careful and pays each person about one question, 8 is usual and pays about three; see: discreet plan"""
_DELTA = """
Delta is the probability that this bound fails.
It must be far below one over the number of people; a smaller one costs little."""


@app.command()
@explained
def init(
    vault: VaultPath,
    epsilon: Annotated[float | None, typer.Option(help="The whole budget. It cannot be raised later.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Probability that the bound fails; far below 1/individuals.")
    ] = None,
    people: Annotated[
        int | None, typer.Option(help="About how many individuals there will be. This number is public.")
    ] = None,
    unit_field: Annotated[
        str | None, typer.Option(help="The field that names the individual; 'unit', if not given.")
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            help="A field to keep with each document: NAME:date, NAME:category or NAME:number; several times."
        ),
    ] = None,
    model: Annotated[str, typer.Option(help="Language model: packaged name, path or hub name.")] = "smollm2-135m",
    embedder: Annotated[
        str, typer.Option(help="Embedder: minilm+words, minilm, hashing, path or hub name.")
    ] = "minilm+words",
    log_questions: Annotated[bool, typer.Option(help="Keep the text of questions in the ledger.")] = False,
    payment: Annotated[
        str, typer.Option(help="Who pays for a question: unit (those who could have taken part) or corpus (everybody).")
    ] = "unit",
    history: Annotated[bool, typer.Option(help="Keep released answers, to use them again for nothing.")] = True,
    ledger: Annotated[str, typer.Option(help="Keep the ledger in a database: postgresql://user@host/database.")] = "",
    accept_claims: Annotated[
        bool, typer.Option("--accept-claims", help="Allow algorithms whose published bounds are no guarantee.")
    ] = False,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch a model or an embedder of the hub now, over the network.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Make the vault even if its grant is a bad one, or a model is not there.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a vault: a folder with settings, a store and a ledger."""
    if people is not None:
        check_people(people)
    asking = not as_json and sys.stdin.isatty()
    if unit_field is None:
        missing = epsilon is None or delta is None
        unit_field = _asked_unit_field() if asking and missing else "unit"
    declared = _declared(field or [], unit_field)
    epsilon, delta, people = _numbers(vault, epsilon, delta, people, ask=asking)
    if payment in PAYMENTS:
        check_grant(epsilon, delta, people=people, payment=payment, force=force)
    if not force:
        check_parts(model, embedder, download=download, command=f"discreet init {vault} ...")
    made = Vault.create(
        vault,
        epsilon=epsilon,
        delta=delta,
        unit_field=unit_field,
        model=model,
        embedder=embedder,
        log_questions=log_questions,
        payment=payment,
        history=history,
        ledger=ledger,
        accept_claims=accept_claims,
        fields=declared,
        people=people,
    )
    if as_json:
        print_json(
            {
                "vault": str(made.path),
                "epsilon": epsilon,
                "delta": delta,
                "people": people,
                "unit_field": unit_field,
                "payment": payment,
                "accept_claims": accept_claims,
                "fields": declared,
            }
        )
    else:
        _tell(made)


def _asked_unit_field() -> str:
    """The field that names the individual, asked for on a terminal."""
    err.print(_UNIT, markup=False)
    return Prompt.ask("Unit field", console=err, default="unit")


def _declared(options: list[str], unit_field: str) -> dict[str, str]:
    """The declared fields by name, from NAME:TYPE.

    Raises:
        UsageError: one is of another form, of no known type, or declared twice.
    """
    found: dict[str, str] = {}
    for option in options:
        name, separator, kind = option.rpartition(":")
        if not separator:
            raise UsageError(f"--field {option} has no type. Give it one: --field {option}:category (or date, number).")
        if name in found:
            raise UsageError(f"The field '{name}' is declared twice. Declare it once.")
        found[name] = kind
    return check_types(found, unit_field)


def _numbers(
    vault: Path, epsilon: float | None, delta: float | None, people: int | None, *, ask: bool
) -> tuple[float, float, int]:
    """The grant, and how many people there are (0 if that was not said): as given, or asked for on a terminal.

    Raises:
        UsageError: epsilon or delta is missing, and there is nobody to ask.
    """
    if epsilon is not None and delta is not None:
        return epsilon, delta, people or 0
    suggested = SUGGESTED_EPSILON if epsilon is None else epsilon
    if not ask:
        number = people or 1000
        least = suggested_delta(number) if delta is None else delta
        said = f"--people {number} --epsilon {suggested:g}"
        raise UsageError(
            f"A vault needs epsilon and delta, which cannot be changed later. See what they pay for: discreet plan "
            f"{said}. Then: discreet init {shlex.quote(str(vault))} {said} --delta {least:g}"
        )
    if people is None:
        err.print(_PEOPLE, markup=False)
        people = IntPrompt.ask("People", console=err, default=1000)
        check_people(people)
    if epsilon is None:
        err.print(_EPSILON, markup=False)
        epsilon = FloatPrompt.ask("Epsilon", console=err, default=suggested)
    if delta is None:
        err.print(_DELTA, markup=False)
        delta = FloatPrompt.ask("Delta", console=err, default=suggested_delta(people))
    return epsilon, delta, people


def _tell(made: Vault) -> None:
    """What was made, what it means, and what to do next."""
    settings = made.settings
    payers = "units pay by themselves" if settings.payment == "unit" else "everybody pays for every question"
    out.print(
        f"Made the vault {made.path}: epsilon {settings.epsilon:g}, delta {settings.delta:g}, unit "
        f"'{settings.unit_field}'; {payers}.",
        markup=False,
    )
    out.print(_meaning(made), markup=False)
    if settings.accept_claims:
        out.print("It accepts claims that are no guarantees: for research, not for other people's data.")
    out.print(f"Next: discreet add {made.path} FILES", markup=False)


def _meaning(made: Vault) -> str:
    """What the grant pays for, in a sentence or two."""
    settings = made.settings
    budget, algorithm = vault_budget(settings.epsilon, settings.delta), usual_algorithm(settings.payment)
    try:
        plan = algorithm.plan(budget, _ANY_VOCABULARY)
        number = times(budget, plan.max_cost) if plan else 0
    except UsageError:
        number = 0
    if not number:
        return "The grant pays for no question of the usual kind."
    what = "1 question" if number == 1 else f"{number} questions"
    whom = f"for each {unit_word(settings.unit_field)}" if settings.payment == "unit" else "in all"
    needed = fewest_units(algorithm, budget)
    return f"The grant pays for {what} of the usual kind {whom}. Fewer than {needed} who agree are hardly ever heard."
