"""`discreet config`: show the settings of a vault, declare another field, name another model, or other words."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import VaultPath, app
from discreet.cli.init import declared
from discreet.cli.output import explained, out
from discreet.config import read_config
from discreet.errors import UsageError
from discreet.planning.models import check_parts
from discreet.questions.vocabulary import parse_synonyms
from discreet.system.words import quoted
from discreet.vault.vault import change_settings


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
