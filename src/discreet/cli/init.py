"""`discreet init` and `discreet config`: make a vault, show its settings, and change those that may change."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.prompt import FloatPrompt, IntPrompt, Prompt

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import err, explained, out, print_json, say
from discreet.config import DEFAULT_STORE, PAYMENTS, read_config
from discreet.errors import UsageError
from discreet.files.fields import check_types
from discreet.planning.checks import SUGGESTED_EPSILON, check_grant, check_parts, check_people, odds, suggested_delta
from discreet.planning.prices import fewest_units, times, usual_algorithm, vault_budget
from discreet.questions.vocabulary import parse_synonyms
from discreet.system.plain import show_as
from discreet.system.words import quoted
from discreet.vault import Vault
from discreet.vault.vault import change_settings

_ANY_VOCABULARY = 1000  # costs do not depend on it
_UNIT = """
Which column or field of your files names the individual? The guarantee protects each individual.
If your files have no such field (letters, PDF), give any word, such as patient."""
_PEOPLE = """
How many people? An approximate number is enough. The number is public: the vault's settings contain it.
Delta must be far below one over this number. A question that needs more people is refused."""
_EPSILON = """
Epsilon bounds what all answers together can reveal about each person. It cannot be raised later.
2 is strict: about one question for each person. 8 is the default: about three. See: discreet plan"""
_DELTA = """
Delta is the probability that this bound fails.
It must be far below one over the number of people. A smaller delta costs little."""


@dataclass(frozen=True)
class VaultMade:
    """A vault that was made.

    Attributes:
        vault: the folder of the vault.
        epsilon: the epsilon of the grant.
        delta: the delta of the grant.
        people: the number of individuals; 0 if it was not given.
        unit_field: the field that names the individual.
        payment: who pays.
        accept_claims: whether algorithms with claims in place of a guarantee may run.
        fields: the types of declared fields, by name.
    """

    vault: str
    epsilon: float
    delta: float
    people: int
    unit_field: str
    payment: str
    accept_claims: bool
    fields: dict[str, str]


@app.command()
@explained
def init(
    vault: VaultPath,
    epsilon: Annotated[float | None, typer.Option(help="The grant's epsilon. It cannot be raised later.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="The probability that the bound fails: far below 1/individuals.")
    ] = None,
    people: Annotated[
        int | None, typer.Option(help="The approximate number of individuals. This number is public.")
    ] = None,
    unit_field: Annotated[
        str | None, typer.Option(help="The field that names the individual. Default: 'unit'.")
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(help="A field to keep with each document: NAME:date, NAME:category or NAME:number. Repeatable."),
    ] = None,
    model: Annotated[
        str, typer.Option(help="The language model: packaged name, path, hub name, openai:URL.")
    ] = "smollm2-135m",
    embedder: Annotated[
        str,
        typer.Option(help="The embedder: minilm+words, minilm, hashing, path, hub name, or dpr:QUESTIONS,PASSAGES."),
    ] = "minilm+words",
    log_questions: Annotated[
        bool,
        typer.Option(help="Keep the text of each question in the ledger; --history keeps that of released ones."),
    ] = False,
    payment: Annotated[
        str, typer.Option(help="Who pays for a question: unit (units that could have been used) or corpus (all units).")
    ] = "unit",
    history: Annotated[bool, typer.Option(help="Keep released answers, and reuse them at no cost.")] = True,
    ledger: Annotated[str, typer.Option(help="Keep the ledger in a database: postgresql://user@host/database.")] = "",
    store: Annotated[
        str,
        typer.Option(
            help="Keep the documents in a database with pgvector: postgresql://user@host/database; or by "
            "a plug-in: its name or address."
        ),
    ] = DEFAULT_STORE,
    accept_claims: Annotated[
        bool, typer.Option("--accept-claims", help="Allow algorithms with a published claim that is no guarantee.")
    ] = False,
    download: Annotated[bool, typer.Option("--download", help="Download missing models from the hub now.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Make the vault also with a bad grant or a missing model.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a vault: a folder with settings, a store and a ledger."""
    if people is not None:
        check_people(people)
    asking = not as_json and sys.stdin.isatty()
    if unit_field is None:
        unit_field = "unit"
        if asking and (epsilon is None or delta is None):
            err.print(_UNIT, markup=False)
            unit_field = Prompt.ask("Unit field", console=err, default=unit_field)
    fields = declared(field or [], unit_field)
    epsilon, delta, people = _numbers(vault, epsilon, delta, people, ask=asking)
    if payment in PAYMENTS:
        check_grant(epsilon, delta, people=people, payment=payment, force=force)
    if not force:
        check_parts(model, embedder, download=download, command=f"discreet init {quoted(vault)} ...")
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
        store=store,
        accept_claims=accept_claims,
        fields=fields,
        people=people,
    )
    if as_json:
        print_json(show_as(VaultMade, made.settings, vault=str(made.path)))
    else:
        _print_summary(made)


def declared(options: list[str], unit_field: str) -> dict[str, str]:
    """Return the types of the declared fields by name, from NAME:TYPE.

    Raises:
        UsageError: if an option has another form or an unknown type, or if a field is declared twice.
    """
    fields: dict[str, str] = {}
    for option in options:
        name, separator, kind = option.rpartition(":")
        if not separator:
            raise UsageError(
                f"--field {option} has no type. Write NAME:TYPE, such as 'ward:category', or with the values "
                "'ward:category(north,south)'. The types are category, date, number."
            )
        if name in fields:
            raise UsageError(f"The field '{name}' is declared twice. Declare it once.")
        fields[name] = kind
    return check_types(fields, unit_field)


def _numbers(
    vault: Path, epsilon: float | None, delta: float | None, people: int | None, *, ask: bool
) -> tuple[float, float, int]:
    """Return epsilon, delta and the number of people (0 if unknown). Ask on the terminal for missing values.

    Raises:
        UsageError: if epsilon or delta is missing, and there is no terminal.
    """
    if epsilon is not None and delta is not None:
        return epsilon, delta, people or 0
    suggested = SUGGESTED_EPSILON if epsilon is None else epsilon
    if not ask:
        number = people or 1000
        least = suggested_delta(number) if delta is None else delta
        said = f"--people {number} --epsilon {suggested:g}"
        raise UsageError(
            f"A vault needs --epsilon and --delta, which cannot be changed later. Plan the grant: discreet plan "
            f"{said}. Then: discreet init {quoted(vault)} {said} --delta {least:g}"
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


def _print_summary(made: Vault) -> None:
    """Print the new vault's settings, the questions that its grant pays for, and the next command."""
    settings = made.settings
    budget, algorithm = vault_budget(settings.epsilon, settings.delta), usual_algorithm(settings.payment)
    try:
        plan = algorithm.plan(budget, _ANY_VOCABULARY)
        number = times(budget, plan.max_cost) if plan else 0
    except UsageError:
        number = 0
    needed = fewest_units(algorithm, budget) if number else 0
    change = odds(settings.epsilon)
    say("made.txt", settings=settings, path=made.path, questions=number, needed=needed, odds=change)


# --- discreet config --------------------------------------------------------------------------------------------------


@app.command()
@explained
def config(
    vault: VaultPath,
    field: Annotated[
        list[str] | None,
        typer.Option(help="Declare another field: NAME:date, NAME:category or NAME:number. Repeatable."),
    ] = None,
    model: Annotated[str, typer.Option(help="Another language model. The texts must then be read anew.")] = "",
    synonyms: Annotated[
        Path | None,
        typer.Option(help="A file of other words for things, one thing a line: hypertension = HTN = Bluthochdruck@de."),
    ] = None,
    download: Annotated[bool, typer.Option("--download", help="Download a missing model from the hub now.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Name the model also if it is missing.")] = False,
) -> None:
    """Show the settings of a vault, or change those that may change.

    Balances, released answers and the grant stay. Add the files again after a field was declared: their records then
    get its values. A running server takes the settings at its next start. For the custodian.
    """
    settings = read_config(vault)
    if model and not force:
        check_parts(model, settings.embedder, download=download, command=f"discreet config {quoted(vault)} ...")
    words = None if synonyms is None else parse_synonyms(_read(synonyms))
    if field or model or words is not None:
        settings = change_settings(vault, declared(field or [], settings.unit_field), model, words)
    shown = asdict(settings) | {"fields": ", ".join(f"{name}:{kind}" for name, kind in settings.fields.items())}
    for name in ("epsilon", "delta", "people", "unit_field", "payment", "model", "embedder", "fields", "history"):
        out.print(f"{name}: {shown[name]}", markup=False)
    for name, others in settings.synonyms.items():
        out.print(f"synonyms: {' = '.join((name, *others))}", markup=False)
    if field:
        out.print(f"Next: discreet add {quoted(vault)} FILES, so that records get the new values.", markup=False)
    if model:
        out.print(f"Next: discreet code --statements {quoted(vault)}, if its texts were read before.", markup=False)


def _read(path: Path) -> str:
    """Return a text file.

    Raises:
        UsageError: if it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise UsageError(f"{path} cannot be read: {why}. Nothing was changed.") from error
