"""`discreet code`: code all records once, so that statistics on codes, lists and votes need no model later."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import explained, out, print_json, say
from discreet.cli.progress import doing_steps
from discreet.errors import UsageError
from discreet.planning.prices import is_empty
from discreet.questions.sentences import is_plural
from discreet.retrieval.codebook import Codebook, find_book
from discreet.synthesis.readings import check_reader
from discreet.system.plain import Sparse
from discreet.system.words import quoted
from discreet.vault import Vault
from discreet.vault.components import book_of

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
