"""`discreet dataset`: turn published data sets of the papers into documents and questions."""

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from discreet.cli.app import Json, app, complete_from
from discreet.cli.output import doing, explained, nothing_kept, out, print_json
from discreet.errors import BadData, UnknownName, UsageError
from discreet.system.progress import Advance
from discreet.system.words import counted, quoted
from discreet_lab.datasets import DOCUMENTS, OUTSIDE, QUESTIONS, RECIPES, Choice, Item, file_of, read_dataset


@dataclass(frozen=True)
class DatasetShown:
    """A data set that was converted.

    Attributes:
        name: the name of the data set.
        documents: the number of documents.
        questions: the number of questions, or of chains of them.
        outside: the number of texts outside the corpus, for attacks on membership.
        left_out: the number of documents without a text, which were left out.
        files: the files that were written.
    """

    name: str
    documents: int
    questions: int
    outside: int
    left_out: int
    files: list[str]


@app.command()
@explained
def dataset(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A data set. Default: list all.", autocompletion=complete_from(RECIPES)),
    ] = None,
    source: Annotated[Path | None, typer.Argument(metavar="SOURCE", help="The published file or folder.")] = None,
    output: Annotated[Path | None, typer.Argument(metavar="OUT", help="The folder for the files.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="NUMBER", help="The most documents.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All questions, not those that a paper chooses.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="The seed of what is drawn.")] = 0,
    packed: Annotated[bool, typer.Option("--gzip", help="Compress the documents: documents.jsonl.gz.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the files.")] = False,
    as_json: Json = False,
) -> None:
    """Turn a published data set of a paper into documents and questions. Nothing is downloaded.

    OUT gets documents.jsonl for discreet add, questions.jsonl for discreet bench, and outside.jsonl for discreet attack
    --non-members, as far as the data set has them. See docs/results/datasets.md.
    """
    if name is None and not as_json:
        for key, one in RECIPES.items():
            out.print(f"{key:14} {one.source}\n{'':14} {one.papers}", markup=False)
        return
    if name not in RECIPES:
        raise UnknownName("data set", name or "", RECIPES)
    if source is None or output is None:
        takes = f"The source of '{name}' is {RECIPES[name].source}"
        raise UsageError(f"{takes}. Give it and a folder: discreet dataset {name} SOURCE OUT.")
    _check_folder(output, force)
    with nothing_kept("No file was written"), doing(f"Reading {source.name}") as advance:
        shown = _write(name, read_dataset(name, source, Choice(seed, everything)), output, limit, packed, advance)
    if as_json:
        print_json(shown)
        return
    numbers = (counted(shown.documents, "document"), counted(shown.questions, "question"))
    left_out = f" {counted(shown.left_out, 'document')} without a text left out." if shown.left_out else ""
    out.print(f"Wrote {' and '.join(numbers)} into {output}.{left_out}", markup=False)
    folder = quoted(output)
    if shown.documents:
        out.print(f"Next: discreet add VAULT {folder}/{shown.files[0]} --preview", markup=False)
    elif shown.questions:
        out.print(f"Next: discreet bench TABLE VAULT {folder}/{QUESTIONS}", markup=False)


def _check_folder(folder: Path, force: bool) -> None:
    """Check that files can be written into a folder, and may be. Make the folder.

    Raises:
        UsageError: if not.
    """
    there = [name for name in (DOCUMENTS, f"{DOCUMENTS}.gz", QUESTIONS, OUTSIDE) if (folder / name).exists()]
    if there and not force:
        raise UsageError(f"{folder / there[0]} already exists. Choose another folder, or overwrite the files: --force.")
    try:
        folder.mkdir(exist_ok=True)
        (folder / f"{DOCUMENTS}.part").touch()
        (folder / f"{DOCUMENTS}.part").unlink()
    except OSError as error:
        raise UsageError(f"The folder {folder} cannot be written: {error.strerror}. Choose another path.") from error


def _write(
    name: str, items: Iterable[Item], folder: Path, limit: int | None, packed: bool, advance: Advance
) -> DatasetShown:
    """Write the items into their files, which get their names when all of them are whole.

    Raises:
        BadData: if no item is there, or one cannot be written as UTF-8; then no file was changed.
    """
    counts, files = Counter[str](), dict[str, Any]()
    try:
        with ExitStack() as opened:
            for item in items:
                file = file_of(item)
                if file == DOCUMENTS and (not item["text"].strip() or counts[DOCUMENTS] == limit):
                    counts["left out"] += counts[DOCUMENTS] != limit
                    continue
                if file not in files:
                    files[file] = opened.enter_context(_open_part(folder, file, packed and file == DOCUMENTS))
                try:
                    files[file].write(json.dumps(item, ensure_ascii=False) + "\n")
                except UnicodeEncodeError:
                    raise BadData(
                        f"The text of '{item['id']!a}' is not UTF-8. Nothing was written. Fetch the source again."
                    ) from None
                counts[file] += 1
                advance(1)
        if not files:
            raise BadData(f"The source has no record that fits. '{name}' takes {RECIPES[name].source}.")
        for file in (DOCUMENTS, f"{DOCUMENTS}.gz", QUESTIONS, OUTSIDE):
            (folder / file).unlink(missing_ok=True)  # of an earlier run, which may have had other files
        written = [f"{file}.gz" if packed and file == DOCUMENTS else file for file in files]
        for file, target in zip(files, written, strict=True):
            os.replace(folder / f"{file}.part", folder / target)
    finally:
        for file in files:
            (folder / f"{file}.part").unlink(missing_ok=True)
    return DatasetShown(name, counts[DOCUMENTS], counts[QUESTIONS], counts[OUTSIDE], counts["left out"], written)


def _open_part(folder: Path, file: str, packed: bool) -> TextIOWrapper:
    path = folder / f"{file}.part"
    if not packed:
        return path.open("w", encoding="utf-8", newline="\n")
    return TextIOWrapper(
        cast(Any, gzip.GzipFile(path, "wb", 6, mtime=0)), "utf-8", newline="\n"
    )  # equal bytes each time
