"""`discreet codebook` and `discreet code`: the public book under which records are coded, and the coding, once.

Statistics on codes, lists and votes need no model later.
"""

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.markup import escape

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, doing, doing_steps, err, explained, out, print_json, say
from discreet.errors import BadData, UsageError
from discreet.models.openai import EXAMPLE
from discreet.planning.prices import is_empty
from discreet.questions.model_parser import VARIABLE, ModelParser
from discreet.questions.sentences import is_plural
from discreet.store.codebook import Codebook, find_book, packaged_books
from discreet.store.embedding import open_embedder
from discreet.store.unit_records import read_unit_texts
from discreet.synthesis.embedder_coder import EmbedderCoder, fit
from discreet.synthesis.readings import check_reader
from discreet.system.files import read_lines
from discreet.system.plain import Sparse
from discreet.system.words import quoted
from discreet.vault import Vault
from discreet.vault.components import book_of
from discreet.vault.reading import CODER

_group = typer.Typer(no_args_is_help=True)
app.add_typer(_group, name="codebook")
Written = Annotated[Path, typer.Argument(metavar="BOOK.yaml", help="The file that is written.")]


@_group.callback()
def codebook() -> None:
    """Make, show, fit and check a codebook: it is public, and records are coded under it."""


@dataclass(frozen=True, kw_only=True)
class BookShown(Sparse):
    """A codebook.

    Attributes:
        packaged: the names of the packaged codebooks; absent if one is shown.
        book: the codebook, as its file has it; absent if the packaged ones are listed.
    """

    packaged: list[str] | None = None
    book: dict[str, Any] | None = None


@_group.command("show")
@explained
def show(
    book: Annotated[
        str | None, typer.Argument(metavar="[VAULT|BOOK]", help="A vault, a file, or a packaged one. Default: list.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a codebook, or list the packaged ones. It is public."""
    if book is None:
        if as_json:
            print_json(BookShown(packaged=list(packaged_books())))
            return
        for name in packaged_books():
            shown_book = find_book(name)
            codes = ", ".join(f"{one.name} ({len(one.values)} values)" for one in shown_book.coded)
            out.print(f"{name}: {codes}", markup=False)
        return
    folder = Path(book)
    shown = book_of(folder) if (folder / "vault.json").exists() else find_book(book)
    if shown is None:
        raise UsageError(
            f"The vault at {folder} has no codebook. Name one: discreet code {quoted(folder)} --book BOOK."
        )
    if as_json:
        print_json(BookShown(book=shown.describe()))
    else:
        out.print(shown.text().rstrip(), markup=False)


@_group.command("new")
@explained
def new(
    written: Written,
    like: Annotated[str, typer.Option("--like", metavar="NAME", help="The packaged codebook to begin with.")] = "",
    about: Annotated[
        str,
        typer.Option("--about", metavar="TEXT", help="What the records are; the model of DISCREET_PARSER writes it."),
    ] = "",
) -> None:
    """Write a codebook to begin with, to be changed in an editor: a packaged one, or a model's from a description."""
    if bool(about) == bool(like) or (like and like not in packaged_books()):
        raise UsageError(
            f"Name a packaged codebook to begin with: --like {' or '.join(packaged_books())}. Or describe the records: "
            "--about TEXT."
        )
    _check_new(written)
    _write(written, _book_about(about) if about else find_book(like))
    out.print(f"{written}: change it, then: discreet code VAULT --book {quoted(written)}", markup=False)


def _book_about(about: str) -> Codebook:
    parser = ModelParser.from_environment(None)
    if parser is None:
        raise UsageError(
            f"--about needs a language model: export {VARIABLE}={EXAMPLE}, and run the command again. It reads the "
            "description, and no record."
        )
    with doing("Asking the model for a codebook"):
        return parser.propose_book(about)


@_group.command("propose")
@explained
def propose(
    vault: VaultPath,
    public: Annotated[Path, typer.Argument(metavar="PUBLIC.jsonl", help="Public texts, a 'text' on every line.")],
    written: Written,
) -> None:
    """Have the model propose attributes from public texts. No document of the vault has any influence."""
    opened = Vault.open(vault)
    _check_new(written)
    with doing("Reading the public texts"):
        proposal = opened.propose_book(public)
    _write(written, proposal)
    out.print(f"{counted(len(proposal.attributes), 'attribute')}: {', '.join(proposal.names)}.", markup=False)
    out.print(f"Look it over: {written}. Then: discreet code {quoted(vault)} --book {quoted(written)}", markup=False)


@_group.command("fit")
@explained
def fit_book(
    book: Annotated[str, typer.Argument(metavar="BOOK", help="A codebook: a file, or a packaged one.")],
    labels: Annotated[
        Path,
        typer.Argument(
            metavar="LABELS.jsonl", help='PUBLIC labelled texts: {"text": ..., "codes": {"CODE": [VALUES]}}.'
        ),
    ],
    written: Written,
) -> None:
    """Fit the thresholds of a codebook on public labelled texts. Never give it texts or labels of a vault."""
    _check_new(written)
    source_book = find_book(book)
    labelled = list(_labelled(labels, source_book))
    with doing("Fitting the thresholds"):
        fitted = fit(source_book, labelled, EmbedderCoder(open_embedder(CODER)), measure=True)
    _write(written, fitted)
    f1 = ", ".join(f"{name} {one:.2f}" for name, one in fitted.f1.items())
    said = f"thresholds fitted on {counted(len(labelled), 'text')}; F1 on those not fitted on: {f1 or 'none'}"
    out.print(f"{written}: {said}.", markup=False)


@dataclass(frozen=True, kw_only=True)
class CodesChecked(Sparse):
    """How a coder agrees with the custodian: for the custodian alone.

    Attributes:
        records: the number of records that were labelled.
        found, missed, wrong: how often a value was found rightly, was missed, and was found wrongly, by code and value.
        f1: the micro-F1 over all codes; absent if no value was found or missed.
    """

    records: int
    found: dict[str, int] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)
    wrong: dict[str, int] = field(default_factory=dict)
    f1: float | None = None


@_group.command("check")
@explained
def check(
    vault: VaultPath,
    sample: Annotated[int, typer.Option("--sample", min=1, max=10_000, help="How many records are labelled.")] = 100,
    labels: Annotated[
        Path | None, typer.Option("--labels", metavar="FILE.jsonl", help="Labels of texts, in place of questions here.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the codes of a sample of records with your own labels: for the custodian alone.

    It writes nothing that an answer reads. If you change the codebook after a look at the records, say so:
    `discreet code --made-with-records`.
    """
    opened = Vault.open(vault)
    codes = opened.components.codes
    book = codes.schema
    if book is None:
        raise UsageError(f"The records are not coded. Code them first: discreet code {quoted(vault)} --book BOOK.")
    lookup = codes.load()
    owned = [(unit, text) for unit, own in read_unit_texts(opened.store).units.items() for text in own.texts]
    given = dict(_labelled(labels, book)) if labels else None
    coded = [one for one in owned if lookup.coded(*one) is not None and (given is None or one[1] in given)]
    some = sorted(coded, key=lambda _: secrets.token_bytes(16))[:sample]
    tally, done = {kind: Counter[str]() for kind in ("found", "missed", "wrong")}, 0
    for number, (unit, text) in enumerate(some, 1):
        true = given[text] if given is not None else _ask(book, text, number, len(some))
        if true is None:
            break
        done += 1
        for attribute in book.coded:
            own = set((lookup.coded(unit, text) or {})[attribute.name.replace(" ", "_")])
            right = set(true.get(attribute.name, ()))
            for kind, values in (("found", own & right), ("missed", right - own), ("wrong", own - right)):
                tally[kind].update(f"{attribute.name}: {value}" for value in values)
    found, missed, wrong = (sum(one.values()) for one in tally.values())
    f1 = 2 * found / (2 * found + missed + wrong) if found + missed + wrong else None
    result = CodesChecked(records=done, **tally, f1=f1)
    if as_json:
        print_json(result)
        return
    for name in sorted(set().union(*tally.values())):
        out.print(f"{name}: {', '.join(f'{tally[kind][name]} {kind}' for kind in tally)}", markup=False)
    score = "no value in them" if f1 is None else f"F1 {f1:.2f}"
    out.print(f"{counted(done, 'record')}: {score}. This is for you alone: no answer depends on it.")


def _ask(book: Codebook, text: str, number: int, of: int) -> Mapping[str, tuple[str, ...]] | None:
    """Return the custodian's labels of a record; None to stop."""
    err.print(f"\n[bold]Record {number} of {of}[/]\n{escape(text)}")
    labels: dict[str, tuple[str, ...]] = {}
    for attribute in book.coded:
        shown = ", ".join(f"{place} {value}" for place, value in enumerate(attribute.names, 1))
        err.print(f"[bold]{escape(attribute.name)}[/]: {escape(shown)}")
        while True:
            said = typer.prompt("Numbers or names, with commas; empty for none, q to stop", default="", err=True)
            if said.strip().casefold() == "q":
                return None
            words = [one.strip().casefold() for one in said.split(",") if one.strip()]
            named = [
                attribute.names[int(one) - 1] if one.isdecimal() and 0 < int(one) <= len(attribute.names) else one
                for one in words
            ]
            if strange := [one for one in named if one not in attribute.names]:
                err.print(f"There is no value '{escape(strange[0])}'. Give numbers from 1 to {len(attribute.names)}.")
                continue
            labels[attribute.name] = tuple(named)
            break
    return labels


def _labelled(path: Path, book: Codebook) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield the texts of a file with their labels.

    Raises:
        BadData: if a line has no text, or a label that is no value of the book.
    """
    names_of = {one.name: set(one.names) for one in book.coded}
    try:
        lines = list(read_lines(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}. Name a JSONL file with labelled texts.") from error
    except ValueError as error:
        raise BadData(f"{path} is no JSONL file: {error}.") from error
    for number, line in lines:
        text, codes = (line.get("text"), line.get("codes")) if isinstance(line, dict) else (None, None)
        if not isinstance(text, str) or not isinstance(codes, dict):
            raise BadData(f'Line {number} of {path} is no labelled text. Expected: {{"text": ..., "codes": {{...}}}}.')
        for name, values in codes.items():
            if name not in names_of or not isinstance(values, list) or not set(map(str, values)) <= names_of[name]:
                raise BadData(f"Line {number} of {path} labels '{name}' with what the codebook lacks: {values}.")
        yield text, {name: list(map(str, values)) for name, values in codes.items()}


def _check_new(written: Path) -> None:
    if written.exists():
        raise UsageError(f"There is something at {written} already. Name another file.")


def _write(written: Path, book: Codebook) -> None:
    _check_new(written)
    try:
        written.write_text(book.text(), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{written} cannot be written: {error.strerror}. Name another file.") from error


# --- discreet code ----------------------------------------------------------------------------------------------------


Blind = Annotated[
    bool | None,
    typer.Option(
        "--made-without-records/--made-with-records",
        help="For a book that changes after records were coded: did its makers look at records?",
    ),
]


@dataclass(frozen=True, kw_only=True)
class RecordsCoded(Sparse):
    """What `discreet code` did.

    Attributes:
        texts: the number of texts that were coded or read now.
        codes: the names of the codes that were found; empty without a codebook.
        statements: the names of the attributes whose statements the model read; empty if it read what a text states.
        read: whether the model read statements.
    """

    texts: int
    codes: list[str]
    statements: list[str]
    read: bool


@app.command()
@explained
def code(
    vault: VaultPath,
    book: Annotated[
        str | None,
        typer.Option("--book", metavar="BOOK", help="A codebook: a YAML file, or the name of a packaged one."),
    ] = None,
    no_book: Annotated[bool, typer.Option("--no-book", help="Drop the vault's codebook.")] = False,
    blind: Blind = None,
    coder: Annotated[
        Literal["embedder", "model"] | None,
        typer.Option(help="What finds the codes: the packaged embedder, or the model. Default: the former one."),
    ] = None,
    statements: Annotated[
        bool,
        typer.Option("--statements", help="Let the model read statements, too: for lists of values that are no codes."),
    ] = False,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run embedder or model on a Ray cluster: host:port, or local.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Code each record once, under a public codebook.

    Each record is coded by itself. Nothing is released, and nothing is charged. Run the command again after an
    interruption or after new documents: what was coded is kept. Without a codebook the model reads what each record
    states, for lists and fast answers.
    """
    opened = Vault.open(vault)
    parts = opened.components
    if book is not None and no_book:
        raise UsageError("A codebook is given and dropped at once. Give --book or --no-book.")
    if book is not None:
        given = find_book(book)
        if statements or parts.readings.complete or not given.coded:  # refused before the book is kept
            check_reader(parts.model, ray, schema=given.part(coded=False) is not None)
        opened.use_book(given, made_without_records=blind)
    elif no_book:
        opened.use_book(None)
    elif blind is not None:
        raise UsageError("Nothing changes in the codebook here. Give --book BOOK, too.")
    own = book_of(opened.path)
    if book is not None and is_empty(opened.path):  # told by a public mark
        if as_json:
            print_json(RecordsCoded(texts=0, codes=[*own.names] if own else [], statements=[], read=False))
        else:
            out.print(
                f"The codebook is kept. Next: discreet add {quoted(vault)} FILES, which codes them.", markup=False
            )
        return
    codes, stated = (own.part(coded=True), own.part(coded=False)) if own else (None, None)
    reads = statements or codes is None or parts.readings.complete
    texts = 0
    with doing_steps("Coding the documents") as told:
        if codes is not None:
            texts = opened.code(lambda done, size: told("texts", done, size), coder=coder, ray=ray)
        if reads:
            texts = opened.read(lambda done, size: told("texts read by the model", done, size), ray=ray)
    if as_json:
        named = list(codes.names) if codes else []
        print_json(RecordsCoded(texts=texts, codes=named, statements=list(stated.names) if stated else [], read=reads))
        return
    question = example_question(own)
    say("coded.txt", texts=texts, codes=codes, stated=stated, reads=reads, question=question, vault=vault)


def example_question(book: Codebook | None) -> str:
    """Return a question about an attribute of a book; "" if there is no such question."""
    names = book.names if book else ("symptoms",)
    kinds = {attribute.name: attribute.type for attribute in book.attributes} if book else {}
    if book and book.coded:
        name = book.coded[0].name
        return f"What are the most common {name if is_plural(name) else f'{name}s'}?"
    if "symptoms" in names:
        return "What are the most common symptoms of ...?"
    for name in names:
        if kinds[name] == "text":
            return f"What are the most common {name}?" if is_plural(name) else f"What is the {name} for ...?"
    return next((f"What is the median {name}?" for name in names if kinds[name] == "number"), "")
