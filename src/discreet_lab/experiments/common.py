"""What all experiments share: their tables, their options, vaults with another model, and a process of their own."""

import argparse
import csv
import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from discreet.models.loading import PACKAGED, load_model
from discreet.vault import Vault

Found = TypeVar("Found")


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
    parser.add_argument(
        "--model",
        metavar="NAME",
        help=f"the language model: a folder, or a name on the hub; default: the vault's, or {PACKAGED}",
    )


def model_name(asked: str | None) -> str:
    """Return the name of the model for a new vault."""
    return asked or PACKAGED


def open_vault(path: Path, asked: str | None) -> Vault:
    """Return a vault that exists, with the model that was asked for in place of its own."""
    return Vault.open(path, model=load_model(asked)) if asked else Vault.open(path)


def vault_at(folder: Path, asked: str | None, fill: Callable[[Vault], object], **settings: Any) -> Vault:
    """Return the vault in a folder. If it is not there, it is made with these settings, and `fill` adds documents."""
    if (folder / "vault.json").exists():
        return open_vault(folder, asked)
    vault = Vault.create(folder, model=model_name(asked), **settings)
    fill(vault)
    return vault


def run_alone(work: Callable[..., Found], *arguments: Any) -> Found:
    """Return what `work` finds in a fresh process, whose memory is its own.

    Raises:
        RuntimeError: if the process ends without a result.
    """
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(send, work, *arguments))
    process.start()
    send.close()
    try:
        result: Found = receive.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"The process of {work.__name__} ended with {process.exitcode} and found nothing.") from None
    process.join()
    return result


def _send(pipe: Any, work: Callable[..., Any], *arguments: Any) -> None:
    pipe.send(work(*arguments))
