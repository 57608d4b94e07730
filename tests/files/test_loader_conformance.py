"""The built-in loaders pass the conformance suite."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.files.loaders import BUILT_IN, BuiltInLoader, Loader
from discreet.files.sandbox import Sandbox
from discreet.testing import LoaderSuite

Texts = Sequence[Mapping[str, str]]


def built_in(name: str) -> BuiltInLoader:
    return next(loader for loader in BUILT_IN if loader.name == name)


class TestJsonLines(LoaderSuite):
    @pytest.fixture
    def loader(self) -> Loader:
        return built_in("jsonl")

    def write(self, path: Path, records: Texts) -> None:
        path.write_text("".join(json.dumps(dict(record)) + "\n" for record in records))


class TestJson(LoaderSuite):
    @pytest.fixture
    def loader(self) -> Loader:
        return built_in("json")

    def write(self, path: Path, records: Texts) -> None:
        path.write_text(json.dumps([dict(record) for record in records]))


class TestCsv(LoaderSuite):
    @pytest.fixture
    def loader(self) -> Loader:
        return built_in("csv")

    def write(self, path: Path, records: Texts) -> None:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["text", "unit"])
            writer.writeheader()
            writer.writerows(records)


class TestText(LoaderSuite):
    @pytest.fixture
    def loader(self) -> Loader:
        return built_in("txt")

    def write(self, path: Path, records: Texts) -> None:
        path.write_text(records[0]["text"])


class TestParquet(LoaderSuite):
    @pytest.fixture
    def loader(self) -> Loader:
        pytest.importorskip("pyarrow")
        return built_in("parquet")

    def write(self, path: Path, records: Texts) -> None:
        import pyarrow
        import pyarrow.parquet

        columns = {name: [record.get(name) for record in records] for name in ("text", "unit")}
        pyarrow.parquet.write_table(pyarrow.table(columns), path)


class TestWorkbook(LoaderSuite):
    @pytest.fixture
    def loader(self) -> Iterator[Loader]:
        pytest.importorskip("openpyxl")
        with Sandbox() as sandbox:  # one for all files of a test, as where many files are read
            loader = built_in("xlsx")
            yield replace(loader, function=lambda file, options, _: loader.function(file, options, sandbox))

    def write(self, path: Path, records: Texts) -> None:
        import openpyxl

        book = openpyxl.Workbook()
        for row in (["text", "unit"], *([record.get("text"), record.get("unit")] for record in records)):
            book.active.append(row)
        book.save(path)
