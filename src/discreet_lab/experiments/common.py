"""What all experiments share: their tables, their options, the models and vaults that they open, parts of data sets.

`discreet` is imported where it is used, so that an experiment can run with the sources of an older commit.
"""

import argparse
import csv
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.generation.torch_backend.transformers_model import TransformersModel
    from discreet.vault import Vault

Line = dict[str, Any]


def add_csv_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--csv PATH`, whose value is the attribute `csv`."""
    parser.add_argument("--csv", type=Path, metavar="PATH", help="also write the rows as CSV, as in docs/results/data")


def name_part(path: Path | None, part: str) -> Path | None:
    """Return the path of a further table of one benchmark: `reach.csv` and `corpus` are `reach-corpus.csv`."""
    return path and path.with_name(f"{path.stem}-{part}{path.suffix}")


class TableWriter:
    """A table whose rows are printed as Markdown and written as CSV as soon as they are known."""

    def __init__(self, columns: Sequence[str], path: Path | None = None) -> None:
        self.path = path
        self.width = len(columns)
        if path is not None:
            path.write_text("", encoding="utf-8")
        self.write(columns)
        print("|" + " --- |" * self.width, flush=True)

    def write(self, cells: Sequence[str]) -> None:
        """Print a row, and append it to the file.

        Raises:
            ValueError: if the row has not one cell for each column.
        """
        if len(cells) != self.width:
            raise ValueError(f"The row has {len(cells)} cells, and the table has {self.width} columns: {cells!r}.")
        print("| " + " | ".join(cells) + " |", flush=True)
        if self.path is not None:
            with self.path.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerow(cells)


def write_table(columns: Sequence[str], rows: Iterable[Sequence[str]], path: Path | None = None) -> None:
    """Write a whole table."""
    writer = TableWriter(columns, path)
    for row in rows:
        writer.write(row)


def add_model_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--model NAME`, whose value is the attribute `model`, and None if it is not given."""
    from discreet.generation.loading import PACKAGED

    parser.add_argument(
        "--model",
        metavar="NAME",
        help=f"the language model: a folder, or a name on the hub; default: the vault's, or {PACKAGED}",
    )


def model_name(asked: str | None) -> str:
    """Return the name of the model for a new vault."""
    from discreet.generation.loading import PACKAGED

    return asked or PACKAGED


def asked_model(asked: str | None) -> "TransformersModel":
    """Return the model that was asked for, or the packaged one."""
    from discreet.generation.loading import load_model

    return load_model(model_name(asked))


def open_vault(path: Path, asked: str | None) -> "Vault":
    """Return a vault that exists, with the model that was asked for in place of its own."""
    from discreet.generation.loading import load_model
    from discreet.vault import Vault

    return Vault.open(path, model=load_model(asked)) if asked else Vault.open(path)


def lines_of(folder: Path, name: str) -> list[Line]:
    """The objects of a file of a data set, packed or not.

    Raises:
        FileNotFoundError: if there is no such file.
    """
    from discreet.reading.records import open_bytes

    found = [path for path in (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz") if path.is_file()]
    if not found:
        raise FileNotFoundError(f"{folder} has no {name}.jsonl and no {name}.jsonl.gz; name the folder of a data set")
    with open_bytes(found[0]) as lines:
        return [json.loads(line) for line in lines if line.strip()]


def spread(found: Sequence[Line], most: int) -> list[Line]:
    """So many of the objects, spread evenly."""
    return [found[place * len(found) // most] for place in range(most)] if most < len(found) else list(found)


def about(question: Line) -> Callable[[Line], bool]:
    """Whether a document is about a question."""
    named = (question.get("meta") or {}).get("condition") or question["question"].rstrip(" ?")
    wanted = str(named).casefold()
    return lambda document: wanted in document["text"].casefold()


def take_part(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Take a part of a data set: some questions, and the documents that are about them.

    It is for readings that take a while. A document is about a question if it quotes it (nq_notes), or if it names the
    question's condition (chatdoctor). Of the questions with enough support, so many are taken, spread evenly over the
    file. `--documents` adds others, spread evenly as well, up to so many. Writes FOLDER/documents.jsonl and
    FOLDER/questions.jsonl.
    """
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--support", type=int, default=20)
    parser.add_argument("--documents", type=int, default=0)
    given = parser.parse_args(arguments)
    try:
        asked, documents = lines_of(given.data, "questions"), lines_of(given.data, "documents")
    except FileNotFoundError as error:
        parser.error(str(error))
    questions = spread([one for one in asked if (one["support"] or 0) >= given.support], given.questions)
    tests = [about(question) for question in questions]
    chosen = {one["id"] for one in documents if any(test(one) for test in tests)}
    others = [one for one in documents if one["id"] not in chosen]
    chosen |= {one["id"] for one in spread(others, max(0, given.documents - len(chosen)))}
    given.folder.mkdir(parents=True, exist_ok=True)
    kept = [one for one in documents if one["id"] in chosen]
    for name, found in (("questions", questions), ("documents", kept)):
        text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found)
        (given.folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    print(f"{len(questions)} questions; {len(kept):,} of {len(documents):,} documents")
