"""Texts whose codes are known before they are written: the test sets of the packaged codebooks, a survey, and tickets.

    discreet/books/BOOK.jsonl    the public test set of a codebook, as `make_test_set` makes it

What a text states, denies, tells of former times or of a relative is drawn first, then its sentences. So the truth is
never read from the text. The sentences stand in coded_texts.yaml. The test sets, and the survey with the tickets, have
stocks of their own, and neither stock has a sentence of a codebook. The same seed gives the same bytes.

The clinic has its own truth, by a table. chatdoctor has no labels: its truth is that of patterns of words.
"""

import csv
import gzip
import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import yaml

from discreet.store.codebook import Codebook, find_book, packaged_books
from discreet_lab.experiments.clinic import Clinic, mistype

TEXTS, PEOPLE, TICKETS, CUSTOMERS = 150, 1_500, 20_000, 6_000
SYSTEMS = (
    *("breathing", "heart", "digestion", "urinary", "skin", "nerves", "mental health", "muscles and joints"),
    *("ear nose throat", "eyes", "reproductive", "hormones"),
)
"""The complaints that are systems of the body; "pain" and "general" can be of any."""
FIRST, DAYS = date(2025, 1, 1), 365
_STOCKS = Path(__file__).with_name("coded_texts.yaml")
_NUMBERS = (1, 5, 4, 1)
"""How often a text states 0, 1, 2 and 3 values of "any of", if so many count for a unit."""
_ANSWERS = re.compile(r"\s*### Doctor's answer:.*", re.DOTALL)
_DENIED = re.compile(r"\b(?:no|without|don't have|not have)(?: any)? (?:\w+ )?\Z")


@dataclass(frozen=True)
class CodedText:
    """A text, with its truth.

    Attributes:
        text: what is written.
        codes: for each attribute whose values are public, the values that hold, in the order of the book.
        unit: whose text it is; empty in a test set.
        fields: its declared fields, such as a department or a date.
    """

    text: str
    codes: Mapping[str, tuple[str, ...]]
    unit: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


def make_test_set(book: str, number: int = TEXTS, seed: int = 0) -> tuple[CodedText, ...]:
    """Return texts of a packaged codebook, each value about as often as another."""
    writer = _Writer("tests", book, random.Random(f"{seed} {book}"))
    return tuple(writer.write() for _ in range(number))


def read_test_set(book: str) -> tuple[CodedText, ...]:
    """Return the packaged test set of a packaged codebook."""
    lines = (files("discreet") / "books" / f"{book}.jsonl").read_text(encoding="utf-8").splitlines()
    records = map(json.loads, lines)
    return tuple(CodedText(one["text"], {name: tuple(some) for name, some in one["codes"].items()}) for one in records)


def write_test_sets(folder: Path) -> None:
    """Write the test set of each packaged codebook: BOOK.jsonl."""
    for book in packaged_books():
        lines = [json.dumps({"text": one.text, "codes": one.codes}, ensure_ascii=False) for one in make_test_set(book)]
        (folder / f"{book}.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8", newline="\n")


def make_survey(people: int = PEOPLE, seed: int = 0) -> tuple[CodedText, ...]:
    """Return one answer of each employee, with department and site, on which the themes depend."""
    draw = random.Random(f"{seed} survey")
    writer = _Writer("figures", "employee-survey", draw)
    return tuple(writer.write(f"E{number:05}", writer.draw_groups()) for number in range(1, people + 1))


def make_tickets(number: int = TICKETS, customers: int = CUSTOMERS, seed: int = 0) -> tuple[CodedText, ...]:
    """Return the tickets of a year by date, with date, plan and channel, on which the topics depend.

    Each customer has at least one, if the number suffices, and a few have many.
    """
    draw = random.Random(f"{seed} tickets")
    writer = _Writer("figures", "support-ticket", draw)
    active = [draw.paretovariate(1.5) for _ in range(customers)]
    whose = [*range(min(customers, number)), *draw.choices(range(customers), active, k=max(0, number - customers))]
    draw.shuffle(whose)
    plans = [writer.draw_groups()["plan"] for _ in range(customers)]
    days = sorted(FIRST + timedelta(draw.randrange(DAYS)) for _ in whose)
    return tuple(
        writer.write(f"C{one:05}", {"date": day.isoformat(), **writer.draw_groups(), "plan": plans[one]})
        for one, day in zip(whose, days, strict=True)
    )


def code_dialogues(path: Path, whole: bool = False) -> tuple[CodedText, ...]:
    """Return the dialogues of chatdoctor, with the complaints that their words name.

    They have no labels. A complaint holds if one of its patterns stands in the text and no "no" or "without" before it.

    Args:
        path: documents.jsonl.gz.
        whole: whether a text has the doctor's answer. If not, it is what the patient writes.
    """
    patterns = {name: re.compile(rf"\b(?:{'|'.join(some)})") for name, some in _stocks()["dialogues"].items()}
    coded = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in map(json.loads, file):
            text = line["text"] if whole else _ANSWERS.sub("", line["text"])
            text = text.removeprefix("Patient's description: ")
            low = text.lower().replace("\u2019", "'")
            holds = tuple(
                name
                for name, pattern in patterns.items()
                if any(not _DENIED.search(low[: one.start()]) for one in pattern.finditer(low))
            )
            coded.append(CodedText(text, {"complaint": holds}, line["unit"]))
    return tuple(coded)


def code_clinic(clinic: Clinic) -> tuple[CodedText, ...]:
    """Return the notes of the made-up clinic, with the complaints that a note states."""
    table = _stocks()["clinic"].items()
    return tuple(
        CodedText(
            note.text,
            {"complaint": tuple(name for name, words in table if note.states & {*words})},
            str(note.patient.number),
            {"date": note.day.isoformat(), "ward": note.ward, "sex": note.patient.sex},
        )
        for note in clinic.notes
    )


def write_csv(texts: Sequence[CodedText], path: Path) -> None:
    """Write texts as a custodian has them, without their truth: unit, their fields, text."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["unit", *texts[0].fields, "text"])
        writer.writerows([one.unit, *one.fields.values(), one.text] for one in texts)


class _Writer:
    """A writer of texts from a stock.

    Args:
        use: "tests" or "figures".
        book: the name of a packaged codebook.
        draw: the source of randomness.
    """

    def __init__(self, use: str, book: str, draw: random.Random) -> None:
        self._stock: dict[str, Any] = _stocks()[use][book]
        self._draw = draw
        self._book: Codebook = find_book(book)
        self._decks: dict[int, list[str]] = {}

    def draw_groups(self) -> dict[str, str]:
        """Draw a value of each field."""
        groups = self._stock["groups"].items()
        return {name: self._draw.choices(list(sizes), list(sizes.values()))[0] for name, sizes in groups}

    def write(self, unit: str = "", fields: Mapping[str, str] | None = None) -> CodedText:
        """Write a text, of at most five sentences of the stock."""
        draw, fields = self._draw, fields or {}
        codes: dict[str, set[str]] = {}
        stated: list[str] = []
        for attribute in self._book.coded:
            holds = codes[attribute.name] = set()
            number = draw.choices(range(4), _NUMBERS)[0] if attribute.type == "any of" else draw.random() < 0.4
            for value in self._draw_values(attribute.name, min(number, attribute.each), fields):
                entry, *more = self._take(self._stock["says"][attribute.name][value]).split(" + ")
                holds |= {value, *more}
                stated.append(entry)
        sentences = self._join(self._frame(stated)) or [self._take(self._stock["empty"])]
        told = [self._tell(kind, codes) for kind, part in _TOLD.items() if draw.random() < part]
        sentences += [one for one in told if one][: 4 - len(sentences)]
        draw.shuffle(sentences)
        if draw.random() < 0.5 and len(sentences) < 5:
            sentences.insert(draw.randrange(len(sentences) + 1), self._take(self._stock["fillers"]))
        text = " ".join(
            one[:1].upper() + one[1:] if draw.random() < 0.85 else one for one in map(self._fill, sentences)
        )
        return CodedText(
            mistype(draw, text) if draw.random() < 0.12 else text,
            {one.name: tuple(name for name in one.names if name in codes[one.name]) for one in self._book.coded},
            unit,
            fields,
        )

    def _draw_values(self, attribute: str, number: int, fields: Mapping[str, str]) -> list[str]:
        """Draw different values, by their weights among texts with such fields."""
        if not number:
            return []
        weights = self._stock.get("weights", {}).get(attribute, {})
        month = f"month={fields.get('date', '')[:7]}"
        groups = [month, *(f"{name}={value}" for name, value in fields.items())]
        lifts = [self._stock.get("lifts", {}).get(group, {}) for group in groups]
        names = self._stock["says"][attribute]
        left = {name: weights.get(name, 1) * prod(lift.get(name, 1.0) for lift in lifts) for name in names}
        drawn: list[str] = []
        for _ in range(number):
            drawn += self._draw.choices(list(left), list(left.values()))
            left[drawn[-1]] = 0.0
        return drawn

    def _take(self, entries: list[str]) -> str:
        """Return an entry of a list of the stock. None comes again before all have come."""
        deck = self._decks.setdefault(id(entries), [])
        if not deck:
            deck += self._draw.sample(entries, len(entries))
        return deck.pop()

    def _frame(self, entries: Iterable[str]) -> list[str]:
        """Return sentences that state the entries."""
        phrases, sentences = list[str](), list[str]()
        for entry in entries:
            (sentences if entry.endswith((".", "!", "?")) else phrases).append(entry)
        while phrases:
            both = len(phrases) > 1 and self._draw.random() < 0.5
            form = self._take(self._stock["pairs" if both else "frames"]).replace("{x}", phrases.pop())
            sentences.append(form.replace("{y}", phrases.pop()) if both else form)
        return sentences

    def _join(self, sentences: list[str]) -> list[str]:
        """Return the sentences, of which two may have become one: "..., and ..."."""
        for one, other in pairwise(sentences):
            if one.endswith(".") and self._draw.random() < 0.15:
                small = other if re.match(r"I\b|.[A-Z]", other) else other[0].lower() + other[1:]
                joined = f"{one[:-1]}{self._draw.choice((', and', ' and', ', but', ';'))} {small}"
                return [joined, *(some for some in sentences if some not in (one, other))]
        return sentences

    def _tell(self, kind: str, codes: Mapping[str, set[str]]) -> str:
        """Return a sentence that denies values which do not hold, or tells them of former times or of a relative."""
        if not self._stock.get(kind):
            return ""
        form, attribute = self._take(self._stock[kind]), self._book.coded[0]
        free = [name for name in attribute.names if name not in codes[attribute.name]]
        phrases = [one for name in free for one in self._stock["says"][attribute.name][name] if one[-1] not in ".!?"]
        gaps = [gap for gap in ("{x}", "{y}") if gap in form]
        for gap, phrase in zip(gaps, self._draw.sample(phrases, len(gaps)), strict=True):
            form = form.replace(gap, phrase.split(" + ")[0])
        return form

    def _fill(self, sentence: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda gap: str(self._draw.choice(_stocks()["slots"][gap[1]])), sentence)


_TOLD = {"denials": 0.35, "past": 0.12, "relatives": 0.12}
"""How often a text tells what does not hold."""


@lru_cache
def _stocks() -> dict[str, Any]:
    def split(found: Any) -> Any:
        if isinstance(found, dict):
            return {name: split(one) for name, one in found.items()}
        return found.splitlines() if isinstance(found, str) else found

    stocks: dict[str, Any] = split(yaml.safe_load(_STOCKS.read_text(encoding="utf-8")))
    return stocks
