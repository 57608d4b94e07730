"""Loaders of plug-ins: they add kinds of files, and a broken one does not stop the others."""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from discreet import plugins
from discreet.errors import BadData, UsageError
from discreet.files.loaders import (
    BUILT_IN,
    KINDS,
    _plugins,
    find_files,
    find_loader,
    is_table,
    known_suffixes,
    loader_failures,
    read_records,
)
from discreet.files.records import BadRecord, FoundFile, ReadingOptions, Record
from discreet.store.documents import Document
from tests.files.documents import read_documents

Declare = Callable[..., None]


class IniLoader:
    """Sections of a file, each a record: `[unit]`, then its text."""

    name = "ini"
    suffixes: tuple[str, ...] = (".ini",)
    reads_tables = True

    def check_installed(self) -> None:
        pass

    def read(self, file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
        for number, part in enumerate(file.path.read_text().split("[")[1:], 1):
            unit, _, text = part.partition("]\n")
            yield Record({"unit": unit, options.text_field: text.strip()}, f"{file.source} part {number}", file.source)


class FailingLoader(IniLoader):
    name, suffixes = "failing", (".fail",)

    def read(self, file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
        yield from super().read(file, options)
        raise ValueError(f"a secret: {file.path.read_text()}")


class TakesCsv(IniLoader):
    name, suffixes = "takes", (".csv",)


class UpperCase(IniLoader):
    name, suffixes = "upper", (".INI",)


class NoLoader:
    suffixes = (".no",)


class CannotBeMade(IniLoader):
    def __init__(self) -> None:
        raise RuntimeError("no")


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Iterator[Declare]:
    def found(**params: Any) -> EntryPoints:
        return EntryPoints(entries).select(**params)

    entries: list[EntryPoint] = []
    monkeypatch.setattr(plugins, "entry_points", found)

    def add(*loaders: type) -> None:
        entries.extend(EntryPoint(one.__name__, f"{__name__}:{one.__name__}", plugins.LOADERS) for one in loaders)
        _plugins.cache_clear()

    yield add
    monkeypatch.undo()
    _plugins.cache_clear()


def write(path: Path, text: str = "[ada]\nWhite hands.\n[bela]\nNumb thumbs.\n") -> Path:
    path.write_text(text)
    return path


def test_plugin_loader_adds_a_kind(tmp_path: Path, declare: Declare) -> None:
    path = write(tmp_path / "notes.INI")
    with pytest.raises(UsageError, match="known format"):
        find_files([path])
    declare(IniLoader)
    assert known_suffixes() == (*KINDS, ".ini")
    assert is_table(path)
    found = list(read_documents(tmp_path))
    assert [one.unit for one in found if isinstance(one, Document)] == ["ada", "bela"]


def test_broken_loaders_leave_the_others_usable(tmp_path: Path, declare: Declare) -> None:
    declare(IniLoader, TakesCsv, UpperCase, NoLoader, CannotBeMade)
    failures = " ".join(loader_failures())
    for name, reason in (
        ("TakesCsv", "another loader reads .csv"),
        ("UpperCase", "lower case"),
        ("NoLoader", "not a discreet"),
        ("CannotBeMade", "RuntimeError"),
    ):
        assert f"'{name}' of a plug-in cannot be used" in failures
        assert reason in failures
    assert find_loader(tmp_path / "a.csv") is next(loader for loader in BUILT_IN if loader.name == "csv")
    assert len(list(read_records([write(tmp_path / "a.ini")]))) == 2
    with pytest.raises(UsageError, match="another loader reads"):
        find_files([write(tmp_path / "a.no")])


def test_failing_loader_is_named_without_content(tmp_path: Path, declare: Declare) -> None:
    declare(FailingLoader)
    *records, bad = read_records([write(tmp_path / "a.fail")])
    assert len(records) == 2
    assert bad == BadRecord("a.fail", "the loader 'failing' failed (ValueError)")


ORDER = "in the order Record(values, where, source)"
A_RECORD: Any = Record  # as a loader without types makes them
A_BAD_ONE: Any = BadRecord


@pytest.mark.parametrize(
    ("yielded", "defect"),
    [
        (
            A_RECORD("a secret", {"unit": "Ada"}, "a"),
            f"a Record whose `values` is of type str; expected a dict*{ORDER}",
        ),
        (A_RECORD({1: "Ada"}, "a", "a"), f"a Record whose `values` is of type dict; expected a dict*of fields*{ORDER}"),
        (A_RECORD({"unit": "Ada"}, 7, "a"), f"a Record whose `where` is of type int; expected a text, {ORDER}"),
        (
            A_BAD_ONE("a", ValueError("Ada")),
            "a BadRecord whose `reason` is of type ValueError*BadRecord(where, reason)",
        ),
        ({"unit": "Ada"}, "an object of type dict; expected a Record(values, where, source) or a BadRecord"),
    ],
)
def test_loader_of_a_malformed_record_is_named(
    tmp_path: Path, declare: Declare, monkeypatch: pytest.MonkeyPatch, yielded: object, defect: str
) -> None:
    def read(self: IniLoader, file: FoundFile, options: ReadingOptions) -> Iterator[Any]:
        yield Record({"unit": "u", options.text_field: "sound"}, "part 1", file.source)
        yield yielded

    monkeypatch.setattr(IniLoader, "read", read)
    declare(IniLoader)
    sound, bad = read_records([write(tmp_path / "a.ini")])
    assert isinstance(sound, Record)
    assert isinstance(bad, BadRecord)
    assert fnmatchcase(bad.reason, f"the loader 'ini' yielded {defect}"), bad.reason
    assert "Ada" not in bad.reason


def test_loader_may_refuse_a_file(tmp_path: Path, declare: Declare, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: IniLoader, file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
        raise BadData("No column.")

    monkeypatch.setattr(IniLoader, "read", refuse)
    declare(IniLoader)
    with pytest.raises(BadData, match="No column"):
        list(read_records([write(tmp_path / "a.ini")]))
