"""`discreet read`: read the statements of all texts once, so that lists and votes need no model later."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, explained, out, print_json
from discreet.cli.progress import doing, doing_steps
from discreet.errors import UsageError
from discreet.questions.sentences import is_plural
from discreet.retrieval.attribute_schema import FILE, AttributeSchema
from discreet.system.plain import Sparse
from discreet.system.words import quoted
from discreet.vault import Vault


@dataclass(frozen=True, kw_only=True)
class WhatWasRead(Sparse):
    """What `discreet read` read.

    Attributes:
        texts: the number of texts that were read now; absent with --propose-schema.
        attributes: the names of the attributes of the schema; empty without a schema. With --propose-schema, the
            attributes themselves.
    """

    texts: int | None = None
    attributes: list[str | dict[str, Any]]


@app.command()
@explained
def read(
    vault: VaultPath,
    schema: Annotated[
        Path | None, typer.Option(metavar="SCHEMA.json", help="The attributes that the model looks for.")
    ] = None,
    no_schema: Annotated[bool, typer.Option("--no-schema", help="Read without a schema from now on.")] = False,
    propose_schema: Annotated[
        Path | None,
        typer.Option(metavar="PUBLIC.jsonl", help="Read no document; propose a schema from these public texts."),
    ] = None,
    written: Annotated[
        Path | None,
        typer.Option("--out", metavar="SCHEMA.json", help="Where --propose-schema writes it. Default: schema.json."),
    ] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run the model on a Ray cluster: host:port, or local.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Read what each document states, once.

    Lists and fast answers need it. The model reads each text by itself. Nothing is released, and nothing is charged.
    Run the command again after an interruption or after new documents: what was read is kept.
    """
    opened = Vault.open(vault)
    if propose_schema is not None:
        if schema is not None or no_schema:
            raise UsageError("--propose-schema reads no document. Give --schema in a later call: it takes the file.")
        if ray is not None:
            raise UsageError("--propose-schema reads few texts, on this machine alone. Give it without --ray.")
        _propose(opened, propose_schema, written or Path(FILE), as_json=as_json)
        return
    if written is not None:
        raise UsageError(
            "--out is the file of a proposed schema, and nothing is proposed here. Give --propose-schema PUBLIC.jsonl "
            "too, or leave --out away."
        )
    if schema is not None and no_schema:
        raise UsageError("A schema is given and dropped at once. Give --schema or --no-schema.")
    given = AttributeSchema.read(schema) if schema is not None else None
    change = _what_changes(opened, given) if not as_json and (given is not None or no_schema) else ""
    with doing_steps("Reading the documents") as told:

        def on_text(done: int, size: int) -> None:
            nonlocal change
            if change:  # said here, since the first report comes after all refusals and before the first text
                out.print(change, markup=False)
                change = ""
            told("texts", done, size)

        texts = opened.read(on_text, ray=ray, schema=given, drop_schema=no_schema)
    found = opened.components.readings.schema
    if as_json:
        print_json(WhatWasRead(attributes=list(found.names) if found else [], texts=texts))
        return
    out.print(f"{counted(texts, 'text')} read. Nothing was charged.")
    if found:
        out.print(f"Attributes: {', '.join(found.names)}.", markup=False)
    if question := example_question(found):
        out.print(f'Next: discreet ask {quoted(vault)} "{question}"', markup=False)


def example_question(schema: AttributeSchema | None) -> str:
    """Return a question about an attribute that was read; "" if there is no such question."""
    names = schema.names if schema else ("symptoms",)
    if "symptoms" in names:
        return "What are the most common symptoms of ...?"
    kinds = {attribute.name: attribute.type for attribute in schema.attributes} if schema else {}
    for name in names:
        if kinds[name] in ("text", "category"):
            return f"What are the most common {name}?" if is_plural(name) else f"What is the {name} for ...?"
    return next((f"What is the median {name}?" for name in names if kinds[name] == "number"), "")


def _what_changes(vault: Vault, given: AttributeSchema | None) -> str:
    """Return a line that all texts are read again, since they were read under another schema; "" if they are not."""
    readings = vault.components.readings
    if not readings.complete or readings.schema == given:
        return ""
    former = f"the schema {', '.join(readings.schema.names)}" if readings.schema else "no schema"
    return f"The documents were read under {former}. All are read again. Until all are, that reading counts."


def _propose(vault: Vault, public: Path, written: Path, *, as_json: bool) -> None:
    if written.exists():
        raise UsageError(f"There is something at {written} already. Name another file: --out FILE.")
    with doing("Reading the public texts"):
        found = vault.propose_schema(public)
    try:
        written.write_text(found.text(), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{written} cannot be written: {error.strerror}. Name another file: --out FILE.") from error
    if as_json:
        print_json(WhatWasRead(**found.describe()))
        return
    out.print(f"{counted(len(found.attributes), 'attribute')}: {', '.join(found.names)}.", markup=False)
    then = f"discreet read {quoted(vault.path)} --schema {quoted(written)}"
    out.print(f"Look it over: {written}. Then: {then}", markup=False)
