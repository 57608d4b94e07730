"""`discreet`: init, add, remove, ask. The other commands have files of their own."""

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from discreet import __version__
from discreet.algorithms import ALGORITHMS, make_algorithm
from discreet.algorithms.answer import Answer
from discreet.cli.output import Commands, err, explained, out, print_json, progress_bar, working
from discreet.errors import BadData, UsageError
from discreet.vault import Vault

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback may show private values
    add_completion=False,
)

VaultPath = Annotated[Path, typer.Argument(metavar="VAULT", help="The folder of the vault.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_NAMES = ", ".join(ALGORITHMS)
_SHOWN = 10
"""So many records that were not added are shown to a person."""


def _version(asked: bool) -> None:
    if asked:
        out.print(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version, and no more.")
    ] = False,
) -> None:
    """Answers questions about private documents, and bounds what all answers show about any one individual."""


@app.command()
@explained
def init(
    vault: VaultPath,
    epsilon: Annotated[float, typer.Option(help="The whole budget. It cannot be raised later.")],
    delta: Annotated[float, typer.Option(help="Probability that the bound fails; far below 1/individuals.")],
    unit_field: Annotated[str, typer.Option(help="The field that names the individual.")] = "unit",
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
    as_json: Json = False,
) -> None:
    """Make a vault: a folder with settings, a store and a ledger."""
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
    )
    if as_json:
        print_json(
            {
                "vault": str(made.path),
                "epsilon": epsilon,
                "delta": delta,
                "unit_field": unit_field,
                "payment": payment,
                "accept_claims": accept_claims,
            }
        )
    else:
        payers = "units pay by themselves" if payment == "unit" else "everybody pays for every question"
        out.print(
            f"Made the vault {made.path}: epsilon {epsilon:g}, delta {delta:g}, unit '{unit_field}'; {payers}.",
            markup=False,
        )
        if accept_claims:
            out.print("It accepts claims that are no guarantees: for research, not for other people's data.")
        out.print(f"Next: discreet add {made.path} FILES", markup=False)


@app.command()
@explained
def add(
    vault: VaultPath,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="JSONL(.gz), CSV, Parquet, .txt, .md, folders.")
    ],
    text_field: Annotated[str, typer.Option(help="The field with the text.")] = "text",
    unit_field: Annotated[str | None, typer.Option(help="The field that names the individual.")] = None,
    id_field: Annotated[str, typer.Option(help="The field with the document's id.")] = "id",
    as_json: Json = False,
) -> int:
    """Add documents: new ones are added, changed ones replaced."""
    opened = Vault.open(vault)
    with progress_bar("Reading and embedding documents") as progress:
        added = opened.add(*paths, text_field=text_field, unit_field=unit_field, id_field=id_field, progress=progress)
    units = opened.store.count_units()
    warnings = _warnings(opened, added.own_unit, units, unit_field or opened.settings.unit_field)
    if as_json:
        print_json(
            {
                "added": added.added,
                "replaced": added.replaced,
                "unchanged": added.unchanged,
                "own_unit": added.own_unit,
                "units": units,
                "bad": [{"where": bad.where, "reason": bad.reason} for bad in added.bad],
                "conflicts": list(added.conflicts),
                "warnings": warnings,
            }
        )
    else:
        out.print(
            f"{added.added} added, {added.replaced} replaced, {added.unchanged} unchanged; "
            f"the vault holds {opened.store.count_documents()} documents of {units} units."
        )
        for warning in warnings:
            err.print(f"[yellow]Note:[/] {escape(warning)}")
        _print_some([f"{bad.where}: {bad.reason}" for bad in added.bad])
        _print_some([f"the id '{name}' came twice with different text; the first was kept" for name in added.conflicts])
    return BadData.exit_code if added.bad or added.conflicts else 0


@app.command()
@explained
def remove(
    vault: VaultPath,
    document: Annotated[str | None, typer.Option("--id", help="Erase this document.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="Erase all documents of this individual.")] = None,
    as_json: Json = False,
) -> None:
    """Erase a document, or an individual: gone from answers at once, and from the disk."""
    if (document is None) == (unit is None):
        raise UsageError("Name what to erase: either --id ID or --unit NAME.")
    opened = Vault.open(vault)
    count = opened.remove(document) if document is not None else opened.remove_unit(unit or "")
    if not count:
        called = f"document '{document}'" if document is not None else f"individual '{unit}'"
        raise UsageError(f"There is no {called} in the vault. Check the spelling; or it was erased before.")
    if as_json:
        print_json({"removed": count})
    else:
        out.print(f"{count} document{'s' if count != 1 else ''} erased.")


@app.command()
@explained
def ask(
    vault: VaultPath,
    question: Annotated[str, typer.Argument(help="The question.")],
    algorithm: Annotated[str | None, typer.Option(help=f"One of: {_NAMES}.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="The most that this question may cost.")] = None,
    delta: Annotated[float | None, typer.Option(help="Its delta; the vault's if not given.")] = None,
    voters: Annotated[int | None, typer.Option(help="How many voters.")] = None,
    units_per_voter: Annotated[int | None, typer.Option(help="How many units each voter reads.")] = None,
    private_tokens: Annotated[int | None, typer.Option(help="How many private tokens epsilon should buy.")] = None,
    epsilon_token: Annotated[float | None, typer.Option(help="Epsilon of a private token, instead.")] = None,
    selection: Annotated[str | None, typer.Option(help="observed, limited-domain or vocabulary.")] = None,
    threshold: Annotated[int | None, typer.Option(help="Vote if no more voters agree with the public token.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="The longest answer, in tokens.")] = None,
    prefix: Annotated[str | None, typer.Option(help="How the answer begins: public, and free.")] = None,
    inner: Annotated[
        str | None, typer.Option(help="murag and its kin, adaptive: how the question itself is answered.")
    ] = None,
    choice: Annotated[
        list[str] | None, typer.Option(help="consensus: a public answer to choose; several times.")
    ] = None,
    vote_shares: Annotated[
        bool | None, typer.Option("--vote-shares", help="consensus: also how many voters choose each, with noise.")
    ] = None,
    fallback: Annotated[
        list[str] | None, typer.Option(help="consensus: what to try if voters do not agree; several times, in order.")
    ] = None,
    uses: Annotated[int | None, typer.Option(help="In how many questions each unit may take part.")] = None,
    similarity: Annotated[
        float | None, typer.Option(help="murag (see `tune`), adaptive: how similar a unit must be.")
    ] = None,
    wanted: Annotated[int | None, typer.Option(help="dp-rag: about how many units should write.")] = None,
    share: Annotated[
        float | None, typer.Option(help="dp-rag: those write who have this share of the weight: 0.5, say.")
    ] = None,
    protection: Annotated[
        str | None,
        typer.Option(help="projection-rag, knn-lm: projection, dp-rp-g or none; no guarantee with any."),
    ] = None,
    k: Annotated[int | None, typer.Option(help="projection-rag, knn-lm: to how many numbers vectors go.")] = None,
    gamma: Annotated[float | None, typer.Option(help="The same: the least length of a vector.")] = None,
    norm: Annotated[float | None, typer.Option(help="The same: its greatest length.")] = None,
    sigma: Annotated[float | None, typer.Option(help="The same: the deviation of the matrix's entries.")] = None,
    weight: Annotated[float | None, typer.Option(help="knn-lm: of the neighbours, the paper's lambda.")] = None,
    neighbours: Annotated[int | None, typer.Option(help="knn-lm: how many entries are looked at.")] = None,
    reuse: Annotated[bool, typer.Option(help="Use answers that were released before.")] = True,
    public: Annotated[bool, typer.Option(help="Use the vault's public corpus, if it has one: see `public`.")] = True,
    not_private: Annotated[bool, typer.Option("--not-private", help="Allow a baseline without guarantee.")] = False,
    corpus: Annotated[
        Path | None, typer.Option(help="Answer from this synthetic corpus instead, for nothing: see `synthesize`.")
    ] = None,
    quantum: Annotated[
        float, typer.Option(help="Seconds: answer at a multiple of it, so that the time tells less. 0: at once.")
    ] = 0.0,
    as_json: Json = False,
) -> None:
    """Ask a question, and pay for the answer."""
    options: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "voters": voters,
        "units_per_voter": units_per_voter,
        "private_tokens": private_tokens,
        "epsilon_token": epsilon_token,
        "selection": selection,
        "threshold": threshold,
        "max_tokens": max_tokens,
        "prefix": prefix,
        "inner": inner,
        "choices": tuple(choice) if choice else None,
        "vote_shares": vote_shares,
        "fallback": tuple(fallback) if fallback else None,
        "uses": uses,
        "similarity": similarity,
        "wanted": wanted,
        "share": share,
        "protection": protection,
        "k": k,
        "gamma": gamma,
        "norm": norm,
        "sigma": sigma,
        "weight": weight,
        "neighbours": neighbours,
    }
    opened = Vault.open(vault)
    if corpus is not None:
        flags = {"not_private": not_private, "no_reuse": not reuse, "no_public": not public, "quantum": quantum}
        _check_free({"algorithm": algorithm, **options} | {name: True for name, given in flags.items() if given})
        with working("Reading the corpus"):
            found = opened.ask_corpus(question, corpus, max_tokens=max_tokens or 32, prefix=prefix or "")
        print_json(found.describe()) if as_json else print_answer(found)
        return
    with working("Asking the voters"):
        chosen = make_algorithm(algorithm or opened.default_algorithm().name, options)
        answer = opened.ask(question, chosen, not_private=not_private, reuse=reuse, public=public, quantum=quantum)
    if as_json:
        print_json(answer.describe())
    else:
        print_answer(answer)


def _check_free(options: dict[str, Any]) -> None:
    """Nothing, if the options are such as an answer from a synthetic corpus heeds.

    Raises:
        UsageError: others are among them.
    """
    given = [name for name, value in options.items() if value is not None and name not in ("max_tokens", "prefix")]
    if given:
        names = ", ".join(f"--{name.replace('choices', 'choice').replace('_', '-')}" for name in given)
        raise UsageError(
            f"An answer from a synthetic corpus is free and asks no voters, so it takes no {names}: of such options "
            "--max-tokens and --prefix alone. Leave them out, or ask without --corpus."
        )


def print_answer(answer: Answer) -> None:
    """An answer with its receipt, for a person."""
    if answer.stopped == "public":
        out.print("Nothing was released from the documents. Without them the model would say:")
    out.print(answer.text.strip() or "(no answer)", markup=False, style="" if answer.stopped == "public" else "bold")
    if answer.shares:
        votes = ", ".join(f"{name} {count}" for name, count in answer.shares.items())
        out.print(f"  votes, with noise: {votes}", markup=False)
    elif answer.released and answer.released != (answer.text,):
        out.print(f"  released: {', '.join(answer.released)}", markup=False)
    out.print(
        f"  stopped: {answer.stopped} ({_REASONS.get(answer.stopped, 'for a reason that is not known')})", markup=False
    )
    print_receipt(answer)
    out.print(f"  left to everybody: epsilon {answer.remaining:.4g}")
    if not answer.kept:
        err.print("[yellow]Note:[/] it could not be written to the history, so asking again pays again. Make room.")


def print_receipt(answer: Answer) -> None:
    """One line on what an answer cost."""
    receipt = answer.receipt
    if receipt is None or not receipt.private:
        out.print("  [bold red]NOT PRIVATE[/]: this answer has no guarantee and may repeat any document.")
        if receipt is not None and receipt.caveat:
            out.print(f"  a claim, not a guarantee: {receipt.caveat}", markup=False)
        return
    if receipt.payment == "nobody":
        why = "this answer was released before" if receipt.reused else "it was answered from texts that are public"
        out.print(f"  receipt: nothing was paid; {why}")
        return
    if receipt.reused:
        out.print(f"  with the help of {receipt.reused} answers that were released before")
    if receipt.public_corpus:
        out.print(f"  with the help of the public corpus {receipt.public_corpus[:12]}")
    out.print(
        f"  receipt: epsilon {receipt.epsilon:.4g}, delta {receipt.delta:g}; {receipt.relation} of one "
        f"'{receipt.unit}'; {_count(receipt.each, 'payment')} {_for_what(answer)}; made by {receipt.payment}",
        markup=False,
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _for_what(answer: Answer) -> str:
    if answer.released:
        return "for the whole answer"
    if answer.stopped == "public":
        return "for asking the voters"
    return f"for {answer.private_tokens} private of {answer.tokens} tokens"


_REASONS = {
    "end": "the model ended it",
    "length": "the longest answer was reached",
    "budget": "the question's budget was used up",
    "undecided": "too few voters agreed, or could pay",
    "public": "too few voters agreed, or could pay",
}


def _print_some(reasons: list[str]) -> None:
    """The first of the records that were not added, each with its reason."""
    for reason in reasons[:_SHOWN]:
        err.print(f"[red]Not added:[/] {escape(reason)}.")
    if len(reasons) > _SHOWN:
        err.print(f"[red]Not added:[/] {len(reasons) - _SHOWN} more like these; --json lists them all.")


def _warnings(vault: Vault, own_unit: int, units: int, field: str) -> list[str]:
    warnings = []
    if own_unit:
        warnings.append(
            f"{_count(own_unit, 'document')} without '{field}': each was taken as a unit of its own. If several "
            "are about one person, that person is protected less than the receipt says: use --unit-field."
        )
    if units and vault.settings.delta > 1 / units:
        warnings.append(
            f"Delta {vault.settings.delta:g} is above 1/{units}, one over the number of units: it would allow a method "
            "that publishes somebody's document outright. Make a vault with a delta far below that."
        )
    return warnings


def main() -> None:
    """Entry point of the command line."""
    for stream in (sys.stdout, sys.stderr):
        # A file's name need not be UTF-8, nor a terminal; in JSON the escape is the character.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()
